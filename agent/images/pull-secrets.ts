// What a pod brings along to pull its images with.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Secret } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { Recorder } from "../model/recorder.ts";
import type { NodeObjects } from "../sources/node-objects.ts";

/** The secrets that a pod brings for its images. */
export async function pullSecrets(
  objects: Pick<NodeObjects, "secret">,
  recorder: Recorder,
  pod: AgentPod,
  call: Call,
): Promise<Secret[]> {
  const names = (pod.spec.imagePullSecrets ?? []).map(({ name }) => name).filter((name) => name !== undefined);
  const found = await Promise.allSettled(names.map((name) => objects.secret(pod.metadata.namespace, name, call)));
  const missing = names.filter((_, index) => found[index]?.status === "rejected");
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`;
    recorder.event(pod, "Warning", "FailedToRetrieveImagePullSecret", message);
  }
  // A pull secret that is not there is no reason to fail: the image may be public.
  return found.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}
