// Offers cluster DNS as a daemon of the node.

import {
  boolean,
  checkSettings,
  integer,
  listOf,
  optional,
  present,
  string,
  that,
} from "../../kit/base/config-check.ts";
import { type Daemon, daemonKind } from "../../kit/contracts/daemon.ts";
import { Fault } from "../../kit/base/fault.ts";
import { tryAddress } from "../../kit/os/net/address.ts";
import { nodeContextKind } from "../../kit/contracts/node-context.ts";
import type { Plugin } from "../../kit/base/plugin.ts";
import { type DnsSettings, dnsDaemon } from "./daemon.ts";

export const dns: Plugin<Daemon, DnsSettings> = {
  kind: daemonKind,
  name: "dns",
  needs: [nodeContextKind],
  keys: {
    upstreams: "addresses of name servers for names outside the cluster (default: those of the node's resolver file)",
    resolvConf: "the resolver file they are read from",
    multicast: "whether names below .local are asked for on the link, by mDNS (default: false)",
    port: "the port it listens on (default: 53)",
  },
  configure: readSettings,
  open({ all, settings, log, clock, stateDir }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "cluster DNS needs a node that knows its cluster");
    return dnsDaemon({ node, settings, log, clock, stateDir });
  },
};

const address = that(string, (text) => tryAddress(text) !== undefined, "an IP address");

function readSettings(raw: unknown): DnsSettings {
  const settings = checkSettings(raw, {
    upstreams: optional(listOf(address)),
    resolvConf: optional(string),
    multicast: optional(boolean),
    port: optional(integer({ min: 1, max: 65535 })),
  });
  return present(settings);
}
