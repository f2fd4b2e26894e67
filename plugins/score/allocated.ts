// How full a node would be with the pod on it, per resource: what the allocation scores judge.

import type { Amounts } from "../kit/scheduling.ts";

/** What a node has, and what its pods take of it. */
interface Shares {
  readonly allocatable: Amounts;
  readonly taken: Amounts;
}

/** Between 0 and 1; more than there is counts as full, and a resource that the node does not have as -1. */
export function shareWith({ allocatable, taken }: Shares, wanted: Amounts, resource: "cpu" | "memory"): number {
  const most = allocatable.get(resource) ?? 0;
  if (most === 0) return -1;
  const used = (taken.get(resource) ?? 0) + (wanted.get(resource) ?? 0);
  return used > most ? 1 : used / most;
}

/** The mean over CPU and memory of what a share is worth, in whole points; 0 for a node that has neither. */
export function meanPoints(shares: Shares, wanted: Amounts, points: (share: number) => number): number {
  const cpu = shareWith(shares, wanted, "cpu");
  const memory = shareWith(shares, wanted, "memory");
  if (cpu < 0) return memory < 0 ? 0 : points(memory);
  if (memory < 0) return points(cpu);
  return Math.floor((points(cpu) + points(memory)) / 2);
}
