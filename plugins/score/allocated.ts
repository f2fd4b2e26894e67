// How full a node would be with the pod on it, per resource: what the allocation scores judge.

import type { Amounts, NodeView } from "../kit/scheduling.ts";

const judged = ["cpu", "memory"];

/** Shares between 0 and 1 of CPU and memory; a resource that the node does not have is left out, one beyond its size counts as full. */
export function sharesWith(node: NodeView, wanted: Amounts): number[] {
  const shares: number[] = [];
  for (const resource of judged) {
    const allocatable = node.allocatable.get(resource) ?? 0;
    if (allocatable === 0) continue;
    const used = (node.requested.get(resource) ?? 0) + (wanted.get(resource) ?? 0);
    shares.push(used > allocatable ? 1 : used / allocatable);
  }
  return shares;
}
