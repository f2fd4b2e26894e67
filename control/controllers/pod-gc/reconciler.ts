// Pod garbage: pods that are done beyond a number, on nodes that are gone, or deleted before they had a node.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { disrupt } from "../pods/disrupt.ts";
import { beyond, orphaned, outOfServiceGoing, unscheduledGoing } from "./choose.ts";

const everyMs = 20_000;
/** A node that is missing may be on its way: its pods are left alone for so long. */
const quarantineMs = 40_000;
const keepTerminated = 12_500;
const key = "pods";

export const podGarbageCollector: ControllerFactory = ({ client, informers, clock, log }) => {
  const pods = informers.for<Pod>(resources.pods);
  const nodes = informers.for<Node>(resources.nodes);
  /** Since when a node is missed. */
  const missing = new Map<string, number>();
  let isUnderWay = false;

  /** Only the loss of its node is a disruption that a job may forgive. */
  async function remove(pod: Pod, why: string, call: Call, isDisrupted = false): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    log.info({ pod: `${namespace}/${name}`, why }, "removing a pod that nobody else will");
    // A pod that nobody runs any more has failed, whatever it last said.
    const cause = isDisrupted ? { reason: "DeletionByPodGC", message: `PodGC: ${why}` } : undefined;
    await disrupt(client, pod, cause, clock.now(), call, "Failed");
    try {
      await client.delete(resources.pods, { namespace, name }, call, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  async function isGone(name: string, call: Call): Promise<boolean> {
    const since = missing.get(name) ?? clock.monotonic();
    missing.set(name, since);
    if (clock.monotonic() - since < quarantineMs) return false;
    try {
      await client.get(resources.nodes, { name }, call);
      return false;
    } catch (error) {
      if (isFault(error, "not-found")) return true;
      throw error;
    }
  }

  return {
    name: "pod-garbage-collector",
    // The first pod begins it, and one that is deleted without a node; from then on time does.
    wakes: [
      {
        resource: resources.pods,
        keys: (pod: Pod) => {
          if (isUnderWay && !(pod.metadata.deletionTimestamp && !pod.spec?.nodeName)) return [];
          isUnderWay = true;
          return [key];
        },
      },
    ],
    async reconcile(_key, call) {
      const all = pods.list();
      isUnderWay = all.length > 0;
      for (const name of missing.keys()) if (nodes.get("", name)) missing.delete(name);
      for (const pod of beyond(all, keepTerminated)) await remove(pod, "too many pods that are done", call);
      for (const pod of unscheduledGoing(all)) await remove(pod, "it was deleted before it had a node", call);
      for (const pod of outOfServiceGoing(all, (name) => nodes.get("", name)))
        await remove(pod, "its node is out of service", call);
      const lost = Map.groupBy(
        orphaned(all, (name) => nodes.get("", name) !== undefined),
        (pod) => pod.spec?.nodeName ?? "",
      );
      for (const name of missing.keys()) if (!lost.has(name)) missing.delete(name);
      for (const [name, some] of lost)
        if (await isGone(name, call)) for (const pod of some) await remove(pod, "node no longer exists", call, true);
      return isUnderWay ? everyMs : undefined;
    },
  };
};
