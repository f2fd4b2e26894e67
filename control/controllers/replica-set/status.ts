// The status of a ReplicaSet or ReplicationController, as a pure function of what was counted.

import type { ReplicaOwner } from "./reconciler.ts";

interface ReplicaCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface ReplicaStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  observedGeneration?: number;
  conditions?: ReplicaCondition[];
}

export function replicaStatus(
  owner: ReplicaOwner,
  counts: { replicas: number; fullyLabeled: number; ready: number; available: number },
  failure: { direction: "create" | "delete"; message: string } | undefined,
  now: number,
): ReplicaStatus {
  const others = (owner.status?.conditions ?? []).filter((condition) => condition.type !== "ReplicaFailure");
  const known = owner.status?.conditions?.find((condition) => condition.type === "ReplicaFailure");
  const conditions = [...others];
  if (failure) {
    const reason = failure.direction === "create" ? "FailedCreate" : "FailedDelete";
    conditions.push(
      known?.reason === reason
        ? known
        : {
            type: "ReplicaFailure",
            status: "True",
            lastTransitionTime: new Date(now).toISOString().replace(/\.\d+Z$/, "Z"),
            reason,
            message: failure.message,
          },
    );
  }
  return {
    replicas: counts.replicas,
    ...(counts.fullyLabeled > 0 ? { fullyLabeledReplicas: counts.fullyLabeled } : {}),
    ...(counts.ready > 0 ? { readyReplicas: counts.ready } : {}),
    ...(counts.available > 0 ? { availableReplicas: counts.available } : {}),
    ...(owner.metadata.generation === undefined ? {} : { observedGeneration: owner.metadata.generation }),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}
