// A stateful set's status from its pods. Pure.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isReady } from "../pods/pod-facts.ts";
import { revisionOf, replicasOf, type StatefulSet, type StatefulSetStatus } from "./objects.ts";
import { healthOf } from "./plan.ts";

export function statusOf(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: { current: string; update: string },
  now: number,
): StatefulSetStatus {
  const isThere = (pod: Pod) => pod.status?.phase !== undefined && !pod.metadata.deletionTimestamp;
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isReady(pod));
  const of = (revision: string) => pods.filter((pod) => isThere(pod) && revisionOf(pod) === revision).length;
  const updated = of(revisions.update);
  const isRolling = set.spec.updateStrategy?.type !== "OnDelete";
  const isComplete =
    isRolling && updated === replicasOf(set) && ready.length === replicasOf(set) && pods.length === replicasOf(set);
  const current = isComplete ? revisions.update : revisions.current;
  return {
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    replicas: pods.length,
    ...(ready.length > 0 ? { readyReplicas: ready.length } : {}),
    availableReplicas: pods.filter((pod) => healthOf(set, pod, now).isHealthy).length,
    ...(of(current) > 0 ? { currentReplicas: of(current) } : {}),
    ...(updated > 0 ? { updatedReplicas: updated } : {}),
    currentRevision: current,
    updateRevision: revisions.update,
    collisionCount: set.status?.collisionCount ?? 0,
  };
}
