// How long to wait before a failed pod is replaced: 10 s, doubled with each failure in a row, at most 10 minutes. Pure: read
// from the pods themselves, so that a restart forgets nothing.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";

const baseMs = 10_000;
const maxMs = 10 * 60_000;

export function finishedAt(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).flatMap(({ state }) =>
    state?.terminated?.finishedAt ? [Date.parse(state.terminated.finishedAt)] : [],
  );
  if (ends.length > 0) return Math.max(...ends);
  return Date.parse(pod.metadata.deletionTimestamp ?? pod.metadata.creationTimestamp ?? "") || 0;
}

/** Milliseconds still to wait after the given failures, the last of them at that time. */
export function msToWait(failures: number, lastFailure: number, now: number): number {
  if (failures === 0) return 0;
  const delay = Math.min(baseMs * 2 ** Math.min(failures - 1, 20), maxMs);
  return Math.max(0, lastFailure + delay - now);
}

/** Failures since the last success, and when the last one was. */
export function recentFailures(succeeded: readonly Pod[], failed: readonly Pod[]): { count: number; last: number } {
  const lastSuccess = Math.max(0, ...succeeded.map(finishedAt));
  const after = failed.map(finishedAt).filter((at) => at >= lastSuccess);
  return { count: after.length, last: Math.max(0, ...after) };
}
