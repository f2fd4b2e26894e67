// Pods on nodes by what affinity and spread ask of them: those alike in namespace, labels, affinity and being on their way out are
// one group with a count for each node. A cluster has thousands of pods and few groups, so a rule is asked once for each group.

import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { PodGroup } from "../../plugins/kit/contracts/scheduling.ts";

interface Group extends PodGroup {
  readonly countByNode: Map<string, number>;
}

/** Pods are never changed in place. */
const keys = new WeakMap<Pod, string>();

function keyOf(pod: Pod): string {
  let key = keys.get(pod);
  if (key === undefined) {
    const { namespace, labels, deletionTimestamp } = pod.metadata;
    const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
    key = JSON.stringify([namespace, labels, podAffinity, podAntiAffinity, deletionTimestamp !== undefined]);
    keys.set(pod, key);
  }
  return key;
}

export class PodGroups {
  readonly #byKey = new Map<string, Group>();

  [Symbol.iterator](): IterableIterator<PodGroup> {
    return this.#byKey.values();
  }

  add(pod: Pod, nodeName: string): void {
    const key = keyOf(pod);
    let group = this.#byKey.get(key);
    if (!group) this.#byKey.set(key, (group = { pod, countByNode: new Map() }));
    group.countByNode.set(nodeName, (group.countByNode.get(nodeName) ?? 0) + 1);
  }

  remove(pod: Pod, nodeName: string): void {
    const key = keyOf(pod);
    const group = this.#byKey.get(key);
    const left = (group?.countByNode.get(nodeName) ?? 0) - 1;
    if (!group) return;
    if (left > 0) group.countByNode.set(nodeName, left);
    else group.countByNode.delete(nodeName);
    if (group.countByNode.size === 0) this.#byKey.delete(key);
  }
}
