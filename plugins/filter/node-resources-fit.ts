// NodeResourcesFit: the pod's requests must fit beside those of the pods that are there.

import { podRequests } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type FilterPlugin, type FilterResult, filterKind, type NodeView } from "../kit/scheduling.ts";

type Wanted = readonly (readonly [resource: string, amount: number])[];

function hasRoom({ allocatable, requested }: NodeView, resource: string, amount: number): boolean {
  return amount <= (allocatable.get(resource) ?? 0) - (requested.get(resource) ?? 0);
}

function refusal(node: NodeView, wanted: Wanted): FilterResult {
  const short = wanted.filter(([resource, amount]) => !hasRoom(node, resource, amount));
  const reasons = short.map(([resource]) => `Insufficient ${resource}`);
  return {
    reasons: hasRoom(node, "pods", 1) ? reasons : ["Too many pods", ...reasons],
    final: short.some(([resource, amount]) => amount > (node.allocatable.get(resource) ?? 0)),
  };
}

const filter: FilterPlugin = {
  name: "NodeResourcesFit",
  retryOn: ["Pod/Delete", "Pod/Update", "Node/Add", "Node/Update"],
  prepare: (pod): Wanted => [...podRequests(pod)].filter(([, amount]) => amount > 0),
  filter(_pod, node, prepared) {
    const wanted = prepared as Wanted;
    let fits = hasRoom(node, "pods", 1);
    for (let at = 0; fits && at < wanted.length; at++) {
      const [resource, amount] = wanted[at] as Wanted[number];
      fits = hasRoom(node, resource, amount);
    }
    return fits ? undefined : refusal(node, wanted);
  },
};

export const nodeResourcesFit: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "NodeResourcesFit",
  open: () => filter,
};
