// NodePorts: two pods on one node cannot ask for the same host port.

import { anyAddress, type HostPort, hostPortsOf } from "../kit/kube/host-ports.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";

const refusal = { reasons: ["node(s) didn't have free ports for the requested pod ports"], final: false };

function conflicts(wanted: HostPort, used: ReadonlySet<string>): boolean {
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
    const wanted = hostPortsOf(pod);
    return wanted.length === 0 ? skip : wanted;
  },
  filter: (_pod, node, wanted) =>
    (wanted as HostPort[]).some((port) => conflicts(port, node.hostPorts)) ? refusal : undefined,
};

export const nodePorts: Plugin<FilterPlugin> = { kind: filterKind, name: "NodePorts", open: () => filter };
