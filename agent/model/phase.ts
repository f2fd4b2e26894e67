// The phase of a pod, and whether it is final.

import type { PodStatus } from "../../plugins/kit/kube/objects/types.ts";

export type PodPhase = NonNullable<PodStatus["phase"]>;

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}
