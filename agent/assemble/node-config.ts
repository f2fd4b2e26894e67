// From the settings of the command line and config file to the agent's configuration. Only what was said is passed on; the
// agent's own defaults fill the rest.

import { hostname } from "node:os";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { hostCidr } from "../../plugins/kit/os/net/address.ts";
import { clusterNetworkFrom } from "../../plugins/kit/kube/cluster-network.ts";
import type { Taint } from "../../plugins/kit/kube/objects/types.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import type { AgentConfig } from "../config/agent-config.ts";

export function nodeConfigFrom(settings: Settings): Partial<AgentConfig> & Pick<AgentConfig, "dataDir"> {
  const text = (name: string) => (settings[name] === undefined ? undefined : String(settings[name]));
  const { clusterDns, clusterDomain } = clusterNetworkFrom(settings);
  const list = (name: string) => (settings[name] as readonly string[] | undefined) ?? [];
  return {
    nodeName: nodeNameFrom(settings),
    nodeIps: (text("node-ip") ?? "").split(",").filter((ip) => ip !== ""),
    dataDir: text("data-dir") ?? "/var/lib/skiff",
    registerNode: settings["register-node"] !== false,
    nodeLabels: Object.fromEntries(list("node-label").map(parseLabel)),
    nodeTaints: list("node-taint").map(parseTaint),
    clusterDns,
    clusterDomain,
    manifestDir: text("manifest-dir"),
    manifestUrl: text("manifest-url"),
    maxPods: Number(settings["max-pods"] ?? 110),
    kubeletPort: Number(settings["kubelet-port"] ?? 10250),
    readOnlyPort: Number(settings["read-only-port"] ?? 0),
    healthzPort: Number(settings["healthz-port"] ?? 0),
  };
}

/** What only one agent on a host may route. */
export function ownNetworks(settings: Settings): string[] {
  const { clusterCidrs, serviceCidrs, clusterDns } = clusterNetworkFrom(settings);
  return [...clusterCidrs, ...serviceCidrs, ...clusterDns.map(hostCidr)];
}

export function nodeNameFrom(settings: Settings): string {
  return String(settings["node-name"] ?? hostname()).toLowerCase();
}

function parseLabel(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw new Fault("invalid", `Bad value for --node-label: "${text}" is not of the form key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function parseTaint(text: string): Taint {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (!match) throw new Fault("invalid", `Bad value for --node-taint: "${text}" is not of the form key=value:effect`);
  const [, key = "", value, effect] = match;
  return { key, ...(value ? { value } : {}), effect: effect as Taint["effect"] };
}
