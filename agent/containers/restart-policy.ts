// The restart policy of a container that does not run. Pure.

import type { AgentPod } from "../model/agent-pod.ts";
import type { ObservedContainer } from "../model/observed.ts";

/** Whether a container that does not run should be started (again). */
export function shouldRestart(pod: AgentPod, newest: ObservedContainer | undefined): boolean {
  if (pod.metadata.deletionTimestamp) return false;
  if (!newest) return true;
  if (newest.state === "running") return false;
  if (newest.state === "unknown" || newest.state === "created") return true;
  if (pod.spec.restartPolicy === "Never") return false;
  if (pod.spec.restartPolicy === "OnFailure") return newest.exitCode !== 0;
  return true;
}
