// Takes back the mark of a disruption that never came: a pod that was to be evicted or preempted and still runs two minutes later
// is no target any more, so that its later end is not taken for one.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { timestamp } from "../../manager/conditions.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";

const staleMs = 2 * 60_000;

/** Milliseconds until the mark is stale, 0 when it is; undefined when there is none, or it is the node's own to act on. */
function msUntilStale(pod: Pod, now: number): number | undefined {
  if (pod.metadata.deletionTimestamp || isTerminal(pod)) return undefined;
  const mark = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  if (mark?.status !== "True" || mark.reason === "TerminationByKubelet") return undefined;
  return Math.max(0, (Date.parse(mark.lastTransitionTime ?? "") || now) + staleMs - now);
}

export const staleDisruptionController: ControllerFactory = ({ client, informers, clock }) => {
  const pods = informers.for<Pod>(resources.pods);
  return {
    name: "stale-disruption",
    wakes: [
      {
        resource: resources.pods,
        keys: (pod: Pod) => (msUntilStale(pod, clock.now()) === undefined ? [] : [keyOf(pod)]),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const pod = pods.get(namespace, name);
      const leftMs = pod && msUntilStale(pod, clock.now());
      if (!pod || leftMs === undefined || leftMs > 0) return leftMs;
      const lastTransitionTime = timestamp(clock.now());
      // Left out, reason and message of the disruption would stay.
      const condition = { type: "DisruptionTarget", status: "False", reason: null, message: null, lastTransitionTime };
      const body = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
      try {
        const at = { namespace, name, subresource: "status" };
        await client.patch(resources.pods, at, { type: "strategic", body }, call);
      } catch (error) {
        if (!isFault(error, "not-found", "conflict")) throw error;
      }
      return undefined;
    },
  };
};
