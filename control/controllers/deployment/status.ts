// A deployment's status: counts and the conditions Available, Progressing and ReplicaFailure, pure.

import {
  availableOf,
  type Deployment,
  type DeploymentCondition,
  type DeploymentStatus,
  type ReplicaSet,
  replicasOf,
  sum,
} from "./objects.ts";
import { rolloutLimits } from "./limits.ts";

const noDeadline = 2_147_483_647;

/** The sets of a deployment; `isMade` when the newest was made just now. */
export interface Sets {
  readonly newest: ReplicaSet | undefined;
  readonly isMade?: boolean;
  readonly old: readonly ReplicaSet[];
}

export function computeStatus(deployment: Deployment, sets: Sets, now: number): DeploymentStatus {
  const { newest: newSet, old: oldSets } = sets;
  const all = newSet ? [...oldSets, newSet] : [...oldSets];
  const available = sum(all, availableOf);
  const total = sum(all, replicasOf);
  const actual = sum(all, (set) => set.status?.replicas ?? 0);
  const ready = sum(all, (set) => set.status?.readyReplicas ?? 0);
  const updated = newSet?.status?.replicas ?? 0;
  const unavailable = Math.max(0, total - available);
  const base: DeploymentStatus = {
    ...(deployment.metadata.generation === undefined ? {} : { observedGeneration: deployment.metadata.generation }),
    ...(actual > 0 ? { replicas: actual } : {}),
    ...(updated > 0 ? { updatedReplicas: updated } : {}),
    ...(ready > 0 ? { readyReplicas: ready } : {}),
    ...(available > 0 ? { availableReplicas: available } : {}),
    ...(unavailable > 0 ? { unavailableReplicas: unavailable } : {}),
    ...(deployment.status?.collisionCount === undefined ? {} : { collisionCount: deployment.status.collisionCount }),
  };
  const minAvailable = (deployment.spec.replicas ?? 1) - rolloutLimits(deployment).maxUnavailable;
  const conditions = setCondition(
    deployment.status?.conditions ?? [],
    available >= minAvailable
      ? {
          type: "Available",
          status: "True",
          reason: "MinimumReplicasAvailable",
          message: "Deployment has minimum availability.",
        }
      : {
          type: "Available",
          status: "False",
          reason: "MinimumReplicasUnavailable",
          message: "Deployment does not have minimum availability.",
        },
    now,
  );
  const begun = withBeginning(deployment, sets, conditions, now);
  return { ...base, conditions: withFailure(sets, withProgress(deployment, base, newSet, begun, now)) };
}

export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const wanted = deployment.spec.replicas ?? 1;
  return (
    (status.updatedReplicas ?? 0) === wanted &&
    (status.replicas ?? 0) === wanted &&
    (status.availableReplicas ?? 0) === wanted &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

export function hasDeadline(deployment: Deployment): boolean {
  return (deployment.spec.progressDeadlineSeconds ?? noDeadline) !== noDeadline;
}

/** The deadline begins with the set, also where no pod of it ever comes. Without a deadline nobody is told of progress. */
function withBeginning(
  deployment: Deployment,
  { newest, isMade = false }: Sets,
  conditions: DeploymentCondition[],
  now: number,
): DeploymentCondition[] {
  if (!hasDeadline(deployment)) return conditions.filter((condition) => condition.type !== "Progressing");
  if (!newest || (!isMade && conditions.some((condition) => condition.type === "Progressing"))) return conditions;
  const name = JSON.stringify(newest.metadata.name);
  const next = isMade
    ? { reason: "NewReplicaSetCreated", message: `Created new replica set ${name}` }
    : { reason: "FoundNewReplicaSet", message: `Found new replica set ${name}` };
  return setCondition(conditions, { type: "Progressing", status: "True", ...next }, now);
}

/** What keeps a set from making its pods, the newest one first, is told of the deployment too. */
function withFailure({ newest, old }: Sets, conditions: DeploymentCondition[]): DeploymentCondition[] {
  const others = conditions.filter((condition) => condition.type !== "ReplicaFailure");
  const [failure] = [newest, ...old].flatMap((set) =>
    (set?.status?.conditions ?? []).filter((condition) => condition.type === "ReplicaFailure"),
  );
  if (!failure) return others;
  const { type, status, reason = "", message = "", lastTransitionTime = "" } = failure;
  const known = conditions.find((condition) => condition.type === type);
  if (known?.status === status && known.reason === reason) return conditions;
  return [...others, { type, status, reason, message, lastUpdateTime: lastTransitionTime, lastTransitionTime }];
}

function withProgress(
  deployment: Deployment,
  status: DeploymentStatus,
  newSet: ReplicaSet | undefined,
  conditions: DeploymentCondition[],
  now: number,
): DeploymentCondition[] {
  const subject = newSet ? `ReplicaSet "${newSet.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  const known = conditions.find((condition) => condition.type === "Progressing");
  const isDone = status.replicas === status.updatedReplicas && known?.reason === "NewReplicaSetAvailable";
  if (!hasDeadline(deployment) || isDone) return conditions;
  const set = (condition: Omit<DeploymentCondition, "lastUpdateTime" | "lastTransitionTime" | "type">) =>
    setCondition(conditions, { type: "Progressing", ...condition }, now);
  if (isComplete(deployment, status)) {
    return set({
      status: "True",
      reason: "NewReplicaSetAvailable",
      message: `${subject} has successfully progressed.`,
    });
  }
  // The success that is still told of may be that of the template before.
  const isNewRollout = known?.reason === "NewReplicaSetAvailable" && !known.message?.includes(subject);
  if (isNewRollout || hasProgressed(deployment.status ?? {}, status)) {
    // A new time tells the deadline to begin anew, also where the words are the same.
    const others = conditions.filter((condition) => condition.type !== "Progressing");
    const kept = known?.status === "True" ? known.lastTransitionTime : stamp(now);
    const message = `${subject} is progressing.`;
    return [
      ...others,
      {
        type: "Progressing",
        status: "True",
        reason: "ReplicaSetUpdated",
        message,
        lastUpdateTime: stamp(now),
        lastTransitionTime: kept,
      },
    ];
  }
  if (isOverdue(deployment, known, now)) {
    return set({
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: `${subject} has timed out progressing.`,
    });
  }
  return conditions;
}

function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** A deployment that is complete or that failed already is not timed. */
function isOverdue(deployment: Deployment, progressing: DeploymentCondition | undefined, now: number): boolean {
  if (!hasDeadline(deployment) || !progressing || deployment.spec.paused) return false;
  if (progressing.reason === "NewReplicaSetAvailable") return false;
  if (progressing.reason === "ProgressDeadlineExceeded") return true;
  return Date.parse(progressing.lastUpdateTime) + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 <= now;
}

export function setCondition(
  conditions: readonly DeploymentCondition[],
  next: Omit<DeploymentCondition, "lastUpdateTime" | "lastTransitionTime">,
  now: number,
): DeploymentCondition[] {
  const known = conditions.find((condition) => condition.type === next.type);
  if (known?.status === next.status && known.reason === next.reason && known.message === next.message)
    return [...conditions];
  const time = stamp(now);
  const made = {
    ...next,
    lastUpdateTime: time,
    lastTransitionTime: known?.status === next.status ? known.lastTransitionTime : time,
  };
  return [...conditions.filter((condition) => condition.type !== next.type), made];
}

function stamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}
