// Offers cluster DNS as a daemon of the node.

import { type Daemon, daemonKind } from "../../kit/daemon.ts";
import { Fault } from "../../kit/fault.ts";
import { tryAddress } from "../../kit/net/address.ts";
import { nodeContextKind } from "../../kit/node-context.ts";
import type { Plugin } from "../../kit/plugin.ts";
import { type DnsSettings, dnsDaemon } from "./daemon.ts";

export const dns: Plugin<Daemon, DnsSettings> = {
  kind: daemonKind,
  name: "dns",
  needs: [nodeContextKind],
  configure: readSettings,
  open({ all, settings, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "cluster DNS needs a node that knows its cluster");
    return dnsDaemon({ node, settings, log, clock });
  },
};

function readSettings(raw: unknown): DnsSettings {
  const settings = (raw ?? {}) as Record<string, unknown>;
  for (const [key, value] of Object.entries(settings)) {
    const isRight =
      (key === "upstreams" && Array.isArray(value) && value.every((address) => tryAddress(String(address)))) ||
      (key === "resolvConf" && typeof value === "string") ||
      (key === "multicast" && typeof value === "boolean") ||
      (key === "port" && typeof value === "number");
    if (!isRight) throw new Fault("invalid", `dns.${key} is unknown or has a wrong value: ${JSON.stringify(value)}`);
  }
  return settings as DnsSettings;
}
