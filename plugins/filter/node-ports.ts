// NodePorts: two pods on one node cannot ask for the same host port.

import type { Pod } from "../kit/objects/types.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/scheduling.ts";

const anyAddress = "0.0.0.0";
const refusal = { reasons: ["node(s) didn't have free ports for the requested pod ports"], final: false };

interface WantedPort {
  protocol: string;
  address: string;
  port: number;
}

function wantedPorts(pod: Pod): WantedPort[] {
  return (pod.spec?.containers ?? []).flatMap((container) =>
    (container.ports ?? [])
      .filter((port) => port.hostPort)
      .map((port) => ({
        protocol: port.protocol ?? "TCP",
        address: port.hostIP || anyAddress,
        port: port.hostPort ?? 0,
      })),
  );
}

function conflicts(wanted: WantedPort, used: ReadonlySet<string>): boolean {
  if (wanted.address !== anyAddress) {
    return (
      used.has(`${wanted.protocol}/${wanted.address}/${wanted.port}`) ||
      used.has(`${wanted.protocol}/${anyAddress}/${wanted.port}`)
    );
  }
  // Every address of the node is wanted, so any use of the port is in the way.
  for (const entry of used)
    if (entry.startsWith(`${wanted.protocol}/`) && entry.endsWith(`/${wanted.port}`)) return true;
  return false;
}

const filter: FilterPlugin = {
  name: "NodePorts",
  retryOn: ["Node/Add", "Pod/Delete"],
  prepare(pod) {
    const wanted = wantedPorts(pod);
    return wanted.length === 0 ? skip : wanted;
  },
  filter: (_pod, node, wanted) =>
    (wanted as WantedPort[]).some((port) => conflicts(port, node.hostPorts)) ? refusal : undefined,
};

export const nodePorts: Plugin<FilterPlugin> = { kind: filterKind, name: "NodePorts", open: () => filter };
