// Taint eviction: pods leave nodes with NoExecute taints when they do not tolerate them, or no longer.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod, Taint, Toleration } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { disrupt } from "../pods/disrupt.ts";
import { msTolerated } from "./tolerance.ts";

const evicting = (node: Node | undefined): Taint[] =>
  (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");

export const taintEvictionController: ControllerFactory = ({ client, informers, events, clock }) => {
  const nodes = informers.for<Node>(resources.nodes);
  const pods = informers.for<Pod>(resources.pods);
  /** Since when a pod is under its node's taints, by uid: for taints that carry no time. */
  const since = new Map<string, number>();

  async function evict(pod: Pod, call: Call): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const subject = { apiVersion: "v1", kind: "Pod", metadata: pod.metadata };
    events.event(subject, "Normal", "TaintManagerEviction", `Marking for deletion Pod ${namespace}/${name}`);
    const why = { reason: "DeletionByTaintManager", message: "Taint manager: deleting due to NoExecute taint" };
    await disrupt(client, pod, why, clock.now(), call);
    try {
      await client.delete(resources.pods, { namespace, name }, call, { preconditions: { uid } });
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  return {
    name: "taint-eviction",
    workers: 4,
    wakes: [
      {
        resource: resources.pods,
        keys: (pod: Pod) => {
          const isThere = pods.get(pod.metadata.namespace ?? "", pod.metadata.name ?? "") !== undefined;
          if (!isThere) since.delete(pod.metadata.uid ?? "");
          const isHit = evicting(nodes.get("", pod.spec?.nodeName ?? "")).length > 0;
          return isThere && isHit ? [keyOf(pod)] : [];
        },
      },
      {
        resource: resources.nodes,
        keys: (node: Node, previous: Node | undefined) => {
          if (evicting(node).length === 0 && evicting(previous).length === 0) return [];
          if (JSON.stringify(evicting(node)) === JSON.stringify(evicting(previous))) return [];
          return pods
            .list()
            .filter((pod) => pod.spec?.nodeName === node.metadata.name)
            .map(keyOf);
        },
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const pod = pods.get(namespace, name);
      const taints = evicting(nodes.get("", pod?.spec?.nodeName ?? ""));
      const uid = pod?.metadata.uid ?? "";
      if (!pod || pod.metadata.deletionTimestamp || taints.length === 0) {
        since.delete(uid);
        return undefined;
      }
      const tolerated = msTolerated(taints, (pod.spec?.tolerations ?? []) as Toleration[]);
      if (tolerated === undefined) return undefined;
      const added = taints.map((taint) => Date.parse((taint as { timeAdded?: string }).timeAdded ?? ""));
      const known = added.some(Number.isNaN) ? since.get(uid) : Math.max(...added);
      const from = known ?? clock.now();
      since.set(uid, from);
      const leftMs = from + tolerated - clock.now();
      if (leftMs > 0) return leftMs;
      since.delete(uid);
      await evict(pod, call);
      return undefined;
    },
  };
};
