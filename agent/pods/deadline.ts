// When a pod has been active for longer than it may be.

import type { PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import type { Verdict } from "../model/verdict.ts";
import type { AgentPod } from "../model/agent-pod.ts";

/** Wall time of the pod's deadline; undefined without one or before it started. */
export function deadlineOf(pod: AgentPod, status: PodStatus | undefined): number | undefined {
  const seconds = pod.spec.activeDeadlineSeconds;
  const startTime = status?.startTime ?? pod.status?.startTime;
  if (seconds === undefined || !startTime) return undefined;
  return Date.parse(startTime) + seconds * 1000;
}

export const deadlineExceeded: Verdict = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};
