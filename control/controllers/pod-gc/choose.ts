// Which pods nobody will ever clean up, and why. Pure.

import type { Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";

const outOfService = "node.kubernetes.io/out-of-service";

/** Bound to a node that is not there. */
export function orphaned(pods: readonly Pod[], isNode: (name: string) => boolean): Pod[] {
  return pods.filter((pod) => pod.spec?.nodeName && !isNode(pod.spec.nodeName));
}

/** Being deleted, and no node has it to end it. */
export function unscheduledGoing(pods: readonly Pod[]): Pod[] {
  return pods.filter((pod) => pod.metadata.deletionTimestamp && !pod.spec?.nodeName);
}

/** Being deleted on a node that somebody declared to be down for good. */
export function outOfServiceGoing(pods: readonly Pod[], nodeOf: (name: string) => Node | undefined): Pod[] {
  return pods.filter((pod) => {
    const node = nodeOf(pod.spec?.nodeName ?? "");
    const isDown = node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status !== "True");
    return pod.metadata.deletionTimestamp && isDown && node?.spec?.taints?.some(({ key }) => key === outOfService);
  });
}

/** The oldest that are done, beyond the number that may stay; evicted ones first. */
export function beyond(pods: readonly Pod[], keep: number): Pod[] {
  const done = pods.filter((pod) => isTerminal(pod) && !pod.metadata.deletionTimestamp);
  if (done.length <= keep) return [];
  const created = (pod: Pod) => Date.parse(pod.metadata.creationTimestamp ?? "") || 0;
  const rank = (pod: Pod) => (pod.status?.reason === "Evicted" ? 0 : 1);
  const order = [...done].sort((a, b) => rank(a) - rank(b) || created(a) - created(b));
  return order.slice(0, done.length - keep);
}
