// NodeResourcesFit: the pod's requests must fit beside those of the pods that are there.

import { podAmounts } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type FilterPlugin, filterKind } from "../kit/scheduling.ts";

const filter: FilterPlugin = {
  name: "NodeResourcesFit",
  retryOn: ["Pod/Delete", "Pod/Update", "Node/Add", "Node/Update"],
  prepare: (pod) => (pod.spec ? podAmounts(pod.spec) : new Map()),
  filter(_pod, node, wanted) {
    const reasons: string[] = [];
    let isFinal = false;
    const maxPods = node.allocatable.get("pods") ?? 0;
    if ((node.requested.get("pods") ?? 0) + 1 > maxPods) reasons.push("Too many pods");
    for (const [resource, amount] of wanted as Amounts) {
      if (amount === 0) continue;
      const allocatable = node.allocatable.get(resource) ?? 0;
      if (amount <= allocatable - (node.requested.get(resource) ?? 0)) continue;
      reasons.push(`Insufficient ${resource}`);
      if (amount > allocatable) isFinal = true;
    }
    return reasons.length === 0 ? undefined : { reasons, final: isFinal };
  },
};

export const nodeResourcesFit: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "NodeResourcesFit",
  open: () => filter,
};
