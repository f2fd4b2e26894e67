// Says on a pod why it is about to be taken away, so that jobs can tell a disruption from a failure; or only that it failed.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod, PodStatus } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { timestamp } from "../../manager/conditions.ts";

export async function disrupt(
  client: ApiClient,
  pod: Pod,
  why: { readonly reason: string; readonly message: string } | undefined,
  now: number,
  call: Call,
  phase?: PodStatus["phase"],
): Promise<void> {
  const isMarked = pod.status?.conditions?.some(({ type, status }) => type === "DisruptionTarget" && status === "True");
  if (isTerminal(pod) || (isMarked && phase === undefined)) return;
  const { namespace = "", name = "", uid } = pod.metadata;
  const condition = { type: "DisruptionTarget", status: "True", ...why, lastTransitionTime: timestamp(now) };
  const status = { ...(why ? { conditions: [condition] } : {}), ...(phase ? { phase } : {}) };
  const body = { metadata: { uid }, status };
  try {
    await client.patch(resources.pods, { namespace, name, subresource: "status" }, { type: "strategic", body }, call);
  } catch (error) {
    if (!isFault(error, "not-found", "conflict")) throw error;
  }
}
