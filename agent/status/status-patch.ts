// The smallest strategic merge patch from the status the API has to the one it should have. Conditions of others are never touched.

import { isDeepStrictEqual } from "node:util";
import type { PodCondition, PodStatus } from "../../plugins/kit/kube/objects/types.ts";

/** Fields that only the kubelet writes: absent from the new status means to be removed. */
const owned: readonly (keyof PodStatus)[] = [
  "phase",
  "reason",
  "message",
  "hostIP",
  "podIP",
  "startTime",
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
  "qosClass",
  "observedGeneration",
  "resize",
];
/** Lists that merge by key in the API: replacing one takes a directive. */
const merged: readonly (keyof PodStatus)[] = ["podIPs", "hostIPs"];

/** Undefined when there is nothing to write. */
export function statusPatch(old: PodStatus, next: PodStatus): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  for (const field of owned) {
    if (isSame(old[field], next[field])) continue;
    patch[field] = next[field] ?? null;
  }
  for (const field of merged) {
    if (isSame(old[field], next[field])) continue;
    patch[field] = [...((next[field] as object[] | undefined) ?? []), { $patch: "replace" }];
  }
  const conditions = (next.conditions ?? []).map((condition) => conditionPatch(old, condition)).filter(Boolean);
  if (conditions.length > 0) patch["conditions"] = conditions;
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function conditionPatch(old: PodStatus, next: PodCondition): Record<string, unknown> | undefined {
  const before = old.conditions?.find((condition) => condition.type === next.type);
  // A time alone is no news; what the server has stays.
  const { lastTransitionTime: _, lastProbeTime: __, ...news } = next;
  const { lastTransitionTime: ___, lastProbeTime: ____, ...known } = before ?? { type: "", status: "" };
  if (isSame(known, news)) return undefined;
  const cleared = Object.fromEntries(
    ["reason", "message"].filter((field) => before && field in before).map((field) => [field, null]),
  );
  return { lastProbeTime: null, ...cleared, ...next };
}

function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(bare(a), bare(b));
}

/** Null, absent and empty mean the same in the API. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(bare);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const entries = Object.entries(value)
    .map(([key, item]) => [key, bare(item)] as const)
    .filter(([, item]) => item !== undefined)
    .sort(([x], [y]) => (x < y ? -1 : 1));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
