// How a claim's status tells of a volume that grows on its node. Pure.

import type { PersistentVolumeClaim } from "../../plugins/kit/kube/objects/types.ts";

type ClaimStatus = NonNullable<PersistentVolumeClaim["status"]>;
type ResizeStatus = NonNullable<ClaimStatus["allocatedResourceStatuses"]>[string];
type Condition = NonNullable<ClaimStatus["conditions"]>[number];

/** All of them are about resizing and go when that is done. */
const resizeConditions: ReadonlySet<string> = new Set([
  "FileSystemResizePending",
  "Resizing",
  "ControllerResizeError",
  "NodeResizeError",
]);

/** How far resizing the volume itself is; undefined when none is under way. */
export function resizeStatusOf(claim: PersistentVolumeClaim): string | undefined {
  return claim.status?.allocatedResourceStatuses?.storage || undefined;
}

export function inProgress({ status }: PersistentVolumeClaim): ClaimStatus {
  return withResizeStatus(status, "NodeResizeInProgress");
}

/** The volume has the size: the claim too, and nothing is under way any more. */
export function finished({ status }: PersistentVolumeClaim, storage: string | number): ClaimStatus {
  const { conditions = [], ...rest } = withResizeStatus(status, undefined);
  const others = conditions.filter(({ type }) => !resizeConditions.has(type));
  return {
    ...rest,
    capacity: { ...status?.capacity, storage },
    ...(others.length > 0 ? { conditions: others } : {}),
  };
}

/** It did not work this time. */
export function failed({ status }: PersistentVolumeClaim, why: string, nowMs: number): ClaimStatus {
  const { conditions = [], ...rest } = status ?? {};
  const told = conditions.find(({ type }) => type === "NodeResizeError");
  if (told?.status === "True") return { ...rest, conditions };
  const error: Condition = {
    type: "NodeResizeError",
    status: "True",
    lastTransitionTime: new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z"),
    message: `failed to expand pvc with ${why}`,
  };
  return { ...rest, conditions: [...conditions.filter((condition) => condition !== told), error] };
}

/** It will never work with this size: whoever asked for it has to ask for another. */
export function infeasible(claim: PersistentVolumeClaim, why: string, nowMs: number): ClaimStatus {
  return withResizeStatus(failed(claim, why, nowMs), "NodeResizeInfeasible");
}

function withResizeStatus(status: ClaimStatus | undefined, storage: ResizeStatus | undefined): ClaimStatus {
  const { allocatedResourceStatuses, ...rest } = status ?? {};
  const { storage: _before, ...others } = allocatedResourceStatuses ?? {};
  const next = { ...others, ...(storage ? { storage } : {}) };
  return { ...rest, ...(Object.keys(next).length > 0 ? { allocatedResourceStatuses: next } : {}) };
}
