// Which pods go first when there are too many: those that serve least, then those whose loss changes least. As upstream ranks them.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isReady, readyCondition, restartsOf } from "./pod-facts.ts";

const phaseRank: Record<string, number> = { Pending: 0, Unknown: 1, Running: 2 };
const costAnnotation = "controller.kubernetes.io/pod-deletion-cost";

type Rank = (pod: Pod) => number;

/** Smaller goes first. Ages are compared on a logarithmic scale, so that pods of about the same age go at random. */
export function deletionOrder(pods: readonly Pod[], podsOnNode: (nodeName: string) => number, now: number): Pod[] {
  const logAge = (time: string | undefined) => Math.floor(Math.log2(Math.max(1, now - Date.parse(time ?? ""))));
  const ranks: Rank[] = [
    (pod) => (pod.spec?.nodeName ? 1 : 0),
    (pod) => phaseRank[pod.status?.phase ?? "Unknown"] ?? 1,
    (pod) => (isReady(pod) ? 1 : 0),
    (pod) => deletionCost(pod),
    (pod) => -podsOnNode(pod.spec?.nodeName ?? ""),
    (pod) => (isReady(pod) ? logAge(readyCondition(pod)?.lastTransitionTime) : 0),
    (pod) => -restartsOf(pod),
    (pod) => logAge(pod.metadata.creationTimestamp),
  ];
  return [...pods].sort((a, b) => {
    for (const rank of ranks) {
      const difference = rank(a) - rank(b);
      if (difference !== 0) return difference;
    }
    return (a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1;
  });
}

function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[costAnnotation];
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : 0;
}
