// How full a node would be with the pod on it, per resource: what the allocation scores judge.

import type { Amounts, NodeView } from "../kit/scheduling.ts";

/** Between 0 and 1; more than there is counts as full, and a resource that the node does not have as -1. */
export function shareWith(node: NodeView, wanted: Amounts, resource: "cpu" | "memory"): number {
  const allocatable = node.allocatable.get(resource) ?? 0;
  if (allocatable === 0) return -1;
  const used = (node.requested.get(resource) ?? 0) + (wanted.get(resource) ?? 0);
  return used > allocatable ? 1 : used / allocatable;
}

/** The mean over CPU and memory of what a share is worth, in whole points; 0 for a node that has neither. */
export function meanPoints(node: NodeView, wanted: Amounts, points: (share: number) => number): number {
  const cpu = shareWith(node, wanted, "cpu");
  const memory = shareWith(node, wanted, "memory");
  if (cpu < 0) return memory < 0 ? 0 : points(memory);
  if (memory < 0) return points(cpu);
  return Math.floor((points(cpu) + points(memory)) / 2);
}
