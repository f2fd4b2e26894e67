// The next step of a stateful set: which pods to make and which to take away, in order, as its policies allow. Pure.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { resolve } from "../deployment/limits.ts";
import { isReady, msUntilAvailable } from "../pods/pod-facts.ts";
import { firstOrdinal, ordinalOf, replicasOf, revisionOf, type StatefulSet } from "./objects.ts";

export interface SetPlan {
  readonly create: readonly { readonly ordinal: number; readonly revision: "current" | "update" }[];
  readonly remove: readonly Pod[];
  /** Milliseconds until a pod that is ready counts as available. */
  readonly waitMs?: number;
}

const nothing: SetPlan = { create: [], remove: [] };

export function planSet(set: StatefulSet, pods: readonly Pod[], updateRevision: string, now: number): SetPlan {
  const isOrdered = set.spec.podManagementPolicy !== "Parallel";
  const start = firstOrdinal(set);
  const end = start + replicasOf(set);
  const byOrdinal = new Map(
    pods.flatMap((pod) => {
      const ordinal = ordinalOf(set, pod);
      return ordinal === undefined ? [] : [[ordinal, pod] as const];
    }),
  );
  const step = { create: [] as SetPlan["create"][number][], remove: [] as Pod[] };
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (!pod) step.create.push({ ordinal, revision: revisionFor(set, ordinal) });
    else if (isTerminal(pod) && !pod.metadata.deletionTimestamp) step.remove.push(pod);
    else if (!isOrdered) continue;
    else {
      const health = healthOf(set, pod, now);
      if (health.isHealthy) continue;
      return { ...step, ...(health.waitMs === undefined ? {} : { waitMs: health.waitMs }) };
    }
    if (isOrdered) return step;
  }
  const beyond = [...byOrdinal].filter(([ordinal]) => ordinal < start || ordinal >= end).sort(([a], [b]) => b - a);
  if (!isOrdered) {
    step.remove.push(...beyond.flatMap(([, pod]) => (pod.metadata.deletionTimestamp ? [] : [pod])));
  } else if (beyond[0]) {
    const [, last] = beyond[0];
    if (last.metadata.deletionTimestamp) return nothing;
    const health = healthOf(set, last, now);
    // One that is not well holds up all that come before it, unless it is the only one, or the first, to be so.
    const firstSick = beyond.findLast(([, pod]) => !isRunningReady(pod))?.[1];
    if (!health.isHealthy && last !== firstSick)
      return { ...nothing, ...(health.waitMs === undefined ? {} : { waitMs: health.waitMs }) };
    return { create: [], remove: [last] };
  }
  if (step.create.length > 0 || step.remove.length > 0) return step;
  return planUpdate(set, byOrdinal, updateRevision, now);
}

/** Below the partition pods stay as they were; all others are made as they should become. */
function revisionFor(set: StatefulSet, ordinal: number): "current" | "update" {
  if (set.spec.updateStrategy?.type === "OnDelete") return "update";
  const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  return ordinal < firstOrdinal(set) + partition ? "current" : "update";
}

/** From the highest ordinal down to the partition, as many at once as may be unavailable. */
function planUpdate(
  set: StatefulSet,
  byOrdinal: ReadonlyMap<number, Pod>,
  updateRevision: string,
  now: number,
): SetPlan {
  if (set.spec.updateStrategy?.type === "OnDelete") return nothing;
  const start = firstOrdinal(set);
  const { partition = 0, maxUnavailable } = set.spec.updateStrategy?.rollingUpdate ?? {};
  const allowed = Math.max(1, resolve(maxUnavailable, replicasOf(set), "up", 1));
  const remove: Pod[] = [];
  const waits: number[] = [];
  let unavailable = 0;
  for (let ordinal = start + replicasOf(set) - 1; ordinal >= start + partition && unavailable < allowed; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (!pod) continue;
    const health = healthOf(set, pod, now);
    if (revisionOf(pod) !== updateRevision && !pod.metadata.deletionTimestamp) {
      remove.push(pod);
      unavailable++;
    } else if (!health.isHealthy) {
      unavailable++;
      if (health.waitMs !== undefined) waits.push(health.waitMs);
    }
  }
  return { create: [], remove, ...(waits.length > 0 ? { waitMs: Math.min(...waits) } : {}) };
}

function isRunningReady(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && pod.status?.phase === "Running" && isReady(pod);
}

export function healthOf(set: StatefulSet, pod: Pod, now: number): { isHealthy: boolean; waitMs?: number } {
  if (!isRunningReady(pod)) return { isHealthy: false };
  const waitMs = msUntilAvailable(pod, set.spec.minReadySeconds ?? 0, now);
  if (waitMs === 0) return { isHealthy: true };
  return { isHealthy: false, ...(waitMs === undefined ? {} : { waitMs }) };
}
