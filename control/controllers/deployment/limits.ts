// How many pods a rollout may have too many or too few, from numbers or percentages.

import { annotations, type Deployment, type ReplicaSet } from "./objects.ts";

/** A percentage of the total, rounded as asked, or the number itself. */
export function resolve(
  value: number | string | undefined,
  total: number,
  round: "up" | "down",
  otherwise: number | string,
): number {
  const given = value ?? otherwise;
  if (typeof given === "number") return given;
  const percent = Number(/^(\d+)%$/.exec(given)?.[1] ?? 0);
  return round === "up" ? Math.ceil((percent * total) / 100) : Math.floor((percent * total) / 100);
}

export function isRolling(deployment: Deployment): boolean {
  return deployment.spec.strategy?.type !== "Recreate";
}

/** Both zero would never get anywhere: then one pod may be missing. */
export function rolloutLimits(deployment: Deployment): { maxSurge: number; maxUnavailable: number } {
  const replicas = deployment.spec.replicas ?? 1;
  if (!isRolling(deployment) || replicas === 0) return { maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = resolve(maxSurge, replicas, "up", "25%");
  const unavailable = resolve(maxUnavailable, replicas, "down", "25%");
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : Math.min(unavailable, replicas) };
}

export function maxReplicas(deployment: Deployment): number {
  return (deployment.spec.replicas ?? 1) + rolloutLimits(deployment).maxSurge;
}

/** Whole numbers of 64 bits, as everywhere; what is none counts as the beginning. */
export function revisionOf(object: { metadata: ReplicaSet["metadata"] }): bigint {
  const text = object.metadata.annotations?.[annotations.revision] ?? "";
  return /^\d+$/.test(text) ? BigInt(text) : 0n;
}

export function highestRevision(sets: readonly ReplicaSet[]): bigint {
  return sets.map(revisionOf).reduce((highest, each) => (each > highest ? each : highest), 0n);
}
