// On which nodes a daemon belongs, on which it may stay, and its pod for one node. Pure.

import { matchesNodeSelection } from "../../../plugins/kit/kube/objects/node-affinity.ts";
import { untoleratedTaint } from "../../../plugins/kit/kube/objects/tolerations.ts";
import type { KubeObject, Node, Pod, PodSpec, Toleration } from "../../../plugins/kit/kube/objects/types.ts";
import { podFromTemplate } from "../pods/pod-control.ts";
import { revisionLabel } from "../revisions/revisions.ts";
import { type DaemonSet, daemonSetType } from "./objects.ts";

const tolerated: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const toleratedOnHostNetwork: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

function tolerationsOf(set: DaemonSet): Toleration[] {
  const own = (set.spec.template.spec?.tolerations ?? []) as Toleration[];
  const added = set.spec.template.spec?.hostNetwork ? [...tolerated, toleratedOnHostNetwork] : tolerated;
  const isThere = (one: Toleration) =>
    own.some(({ key, operator, effect }) => key === one.key && operator === one.operator && effect === one.effect);
  return [...own, ...added.filter((one) => !isThere(one))];
}

/** `shouldRun`: a pod is wanted there. `mayStay`: one that runs there already is left alone. */
export function placementOn(set: DaemonSet, node: Node): { shouldRun: boolean; mayStay: boolean } {
  const { template } = set.spec;
  if (template.spec?.nodeName && template.spec.nodeName !== node.metadata.name)
    return { shouldRun: false, mayStay: false };
  if (!matchesNodeSelection({ metadata: {}, spec: template.spec } as Pod, node))
    return { shouldRun: false, mayStay: false };
  const tolerations = tolerationsOf(set);
  const isFree = (effects: string[]) => !untoleratedTaint(node.spec?.taints, tolerations, effects);
  return { shouldRun: isFree(["NoSchedule", "NoExecute"]), mayStay: isFree(["NoExecute"]) };
}

/** The scheduler binds it, but has only one node to choose from. */
export function podFor(set: DaemonSet, nodeName: string, hash: string): KubeObject {
  const pod = podFromTemplate({ object: set, type: daemonSetType }, set.spec.template);
  const generation = set.metadata.annotations?.["deprecated.daemonset.template.generation"];
  pod.metadata.labels = {
    ...pod.metadata.labels,
    [revisionLabel]: hash,
    ...(generation ? { "pod-template-generation": generation } : {}),
  };
  const spec = pod.spec as PodSpec;
  const only = { matchFields: [{ key: "metadata.name", operator: "In" as const, values: [nodeName] }] };
  spec.tolerations = tolerationsOf(set);
  spec.affinity = {
    ...spec.affinity,
    nodeAffinity: {
      ...spec.affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [only] },
    },
  };
  return pod;
}

/** Where a pod runs, or will. */
export function nodeOf(pod: Pod): string | undefined {
  if (pod.spec?.nodeName) return pod.spec.nodeName;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const term of required?.nodeSelectorTerms ?? [])
    for (const field of term.matchFields ?? [])
      if (field.key === "metadata.name" && field.operator === "In") return field.values?.[0];
  return undefined;
}
