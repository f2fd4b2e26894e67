// For how long a pod may stay on a node with NoExecute taints. Pure.

import { toleratesTaint } from "../../../plugins/kit/kube/objects/tolerations.ts";
import type { Taint, Toleration } from "../../../plugins/kit/kube/objects/types.ts";

/** Milliseconds from when the taints came: 0 when the pod must go at once, undefined when it may stay. */
export function msTolerated(taints: readonly Taint[], tolerations: readonly Toleration[]): number | undefined {
  const limits: number[] = [];
  for (const taint of taints) {
    if (taint.effect !== "NoExecute") continue;
    const used = tolerations.filter((toleration) => toleratesTaint(toleration, taint));
    if (used.length === 0) return 0;
    for (const { tolerationSeconds } of used)
      if (tolerationSeconds !== undefined && tolerationSeconds !== null)
        limits.push(Math.max(0, tolerationSeconds) * 1000);
  }
  return limits.length > 0 ? Math.min(...limits) : undefined;
}
