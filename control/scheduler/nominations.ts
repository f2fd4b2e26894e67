// Room that was promised: pods that victims make way for, and on which node. Until such a pod is bound, nobody of the same or less
// importance is given its room.

import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { isLower } from "./preemption.ts";
import type { Snapshot } from "./snapshot.ts";

interface Nomination {
  readonly pod: Pod;
  readonly nodeName: string;
  /** By the pod's status alone: it ends when the status does not tell it any more. */
  readonly isLearned: boolean;
}

export class Nominations {
  readonly #byUid = new Map<string, Nomination>();
  readonly #snapshot: Snapshot;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  nodeFor(pod: Pod): string | undefined {
    return this.#byUid.get(pod.metadata.uid ?? "")?.nodeName;
  }

  set(pod: Pod, nodeName: string): void {
    this.#byUid.set(pod.metadata.uid ?? "", { pod, nodeName, isLearned: false });
  }

  /** A promise that an earlier scheduler made, as the pod's status tells it, still holds. */
  learn(pod: Pod): void {
    const { uid = "" } = pod.metadata;
    const { nominatedNodeName: nodeName } = pod.status ?? {};
    const known = this.#byUid.get(uid);
    if (known && !known.isLearned) return;
    if (nodeName) this.#byUid.set(uid, { pod, nodeName, isLearned: true });
    else this.#byUid.delete(uid);
  }

  /** True when there was one. */
  delete(uid: string): boolean {
    return this.#byUid.delete(uid);
  }

  /** Pods that matter less and were promised room on the node: what they were promised is going to somebody else. */
  lowerOn(nodeName: string, than: Pod): Pod[] {
    return [...this.#byUid.values()]
      .filter((one) => one.nodeName === nodeName && isLower(one.pod, than))
      .map(({ pod }) => pod);
  }

  /** Victims of an earlier attempt that are still on their way out of where the pod was promised room. */
  hasLeavingVictims(pod: Pod): boolean {
    const nodeName = this.nodeFor(pod);
    const there = nodeName === undefined ? undefined : this.#snapshot.node(nodeName)?.pods;
    return there?.some((other) => isLower(other, pod) && isLeavingVictim(other)) ?? false;
  }

  /** Looks at the snapshot with the pods that were promised room elsewhere in their place, unless they matter less. */
  inPlace<T>(pod: Pod, look: () => T): T {
    if (this.#byUid.size === 0) return look();
    const promised = [...this.#byUid.values()].filter(
      (other) =>
        other.pod.metadata.uid !== pod.metadata.uid &&
        !isLower(other.pod, pod) &&
        !this.#snapshot.isAssumed(other.pod.metadata.uid ?? ""),
    );
    for (const other of promised) this.#snapshot.assume(other.pod, other.nodeName);
    try {
      return look();
    } finally {
      for (const other of promised) this.#snapshot.forget(other.pod.metadata.uid ?? "");
    }
  }
}

/** Who leaves for other reasons is not waited for. */
function isLeavingVictim({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return target?.status === "True" && target.reason === "PreemptionByScheduler";
}
