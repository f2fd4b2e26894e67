// When the pod sandbox has to be created again, as upstream's podSandboxChanged decides. Pure.

import type { AgentPod } from "../model/agent-pod.ts";
import type { ObservedPod } from "../model/observed.ts";

/** Whether the pod needs another sandbox than the one it has, and which attempt that is. */
export function sandboxChange(
  pod: AgentPod,
  observed: ObservedPod | undefined,
): { isNeeded: boolean; attempt: number } {
  const newest = observed?.sandboxes[0];
  if (!newest) return { isNeeded: true, attempt: 0 };
  const next = { isNeeded: true, attempt: newest.attempt + 1 };
  if ((observed?.sandboxes ?? []).filter((sandbox) => sandbox.isReady).length > 1) return next;
  if (!newest.isReady) return next;
  if (newest.isHostNetwork !== (pod.spec.hostNetwork ?? false)) return next;
  if (!newest.isHostNetwork && newest.ips.length === 0) return next;
  return { isNeeded: false, attempt: newest.attempt };
}
