// Taints and tolerations, as the scheduler, the kubelet and the taint eviction controller all read them.

import type { Taint, Toleration } from "./types.ts";

/** True when the toleration covers the taint, whatever its time limit. */
export function toleratesTaint(toleration: Toleration, taint: Pick<Taint, "key" | "value" | "effect">): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if ((toleration.operator ?? "Equal") === "Exists") return true;
  return Boolean(toleration.key) && (toleration.value ?? "") === (taint.value ?? "");
}

/** The first taint with one of the effects that no toleration covers. */
export function untoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[],
): Taint | undefined {
  return taints?.find(
    (taint) => effects.includes(taint.effect) && !tolerations?.some((toleration) => toleratesTaint(toleration, taint)),
  );
}
