// What controllers ask of a pod: is it still counted, is it ready, since when, and could it be called available.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";

/** Neither done nor on its way out. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

export function readyCondition(pod: Pod) {
  return pod.status?.conditions?.find((condition) => condition.type === "Ready");
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === "True";
}

/** Milliseconds until the pod counts as available; 0 when it does, undefined while it is not ready. */
export function msUntilAvailable(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const ready = readyCondition(pod);
  if (ready?.status !== "True") return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(ready.lastTransitionTime ?? "");
  return Number.isNaN(since) ? undefined : Math.max(0, since + minReadySeconds * 1000 - now);
}

export function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, status) => Math.max(sum, status.restartCount ?? 0), 0);
}
