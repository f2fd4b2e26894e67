// Topology spread constraints: which pods a constraint counts and which nodes take part.

import type { DefaultConstraint } from "./scheduling-arguments.ts";
import type { ClusterView } from "../contracts/scheduling.ts";
import { type LabelSelectorMatcher, labelSelectorOf } from "../kube/selector.ts";
import { matchesNodeSelection } from "../kube/objects/node-affinity.ts";
import { controllerSelector } from "./pod-controllers.ts";
import { untoleratedTaint } from "../kube/objects/tolerations.ts";
import type { Node, Pod } from "../kube/objects/types.ts";

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly minDomains: number;
  readonly selector: LabelSelectorMatcher;
  /** Nodes that the constraint does not count. */
  counts(node: Node): boolean;
}

type Given = NonNullable<NonNullable<Pod["spec"]>["topologySpreadConstraints"]>[number];
type When = "DoNotSchedule" | "ScheduleAnyway";

export function spreadConstraints(pod: Pod, when: When): SpreadConstraint[] {
  return (pod.spec?.topologySpreadConstraints ?? [])
    .filter((constraint) => constraint.whenUnsatisfiable === when)
    .map((constraint) => asked(pod, constraint, labelSelectorOf(withLabelKeys(pod, constraint))));
}

/** The constraints for a pod that has none: they count the pods that belong with it. None for a pod that stands alone. */
export function defaultSpread(
  pod: Pod,
  defaults: readonly DefaultConstraint[],
  when: When,
  cluster: Pick<ClusterView, "list" | "get">,
): SpreadConstraint[] {
  if ((pod.spec?.topologySpreadConstraints?.length ?? 0) > 0) return [];
  const meant = defaults.filter((constraint) => constraint.whenUnsatisfiable === when);
  const selector = meant.length === 0 ? undefined : controllerSelector(pod, cluster);
  return selector ? meant.map((constraint) => asked(pod, constraint, selector)) : [];
}

function asked(pod: Pod, constraint: Given | DefaultConstraint, selector: LabelSelectorMatcher): SpreadConstraint {
  return {
    maxSkew: constraint.maxSkew,
    topologyKey: constraint.topologyKey,
    minDomains: constraint.minDomains ?? 1,
    selector,
    counts: (node) =>
      (constraint.nodeAffinityPolicy === "Ignore" || matchesNodeSelection(pod, node)) &&
      (constraint.nodeTaintsPolicy !== "Honor" ||
        untoleratedTaint(node.spec?.taints, pod.spec?.tolerations, ["NoSchedule", "NoExecute"]) === undefined),
  };
}

function withLabelKeys(
  pod: Pod,
  constraint: { labelSelector?: object; matchLabelKeys?: readonly string[] },
): object | undefined {
  const keys = (constraint.matchLabelKeys ?? []).filter((key) => pod.metadata.labels?.[key] !== undefined);
  const selector = constraint.labelSelector as { matchExpressions?: object[] } | undefined;
  if (keys.length === 0 || !selector) return selector;
  const extra = keys.map((key) => ({ key, operator: "In", values: [pod.metadata.labels?.[key] ?? ""] }));
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...extra] };
}

/** Pods on their way out are not counted: they will be gone. */
export function isCounted(constraint: SpreadConstraint, owner: Pod, pod: Pod): boolean {
  return (
    pod.metadata.namespace === owner.metadata.namespace &&
    pod.metadata.deletionTimestamp === undefined &&
    constraint.selector.matches(pod.metadata.labels)
  );
}

/** Matching pods by the domain's value, for every domain that has a node which takes part. */
export function countByDomain(
  constraint: SpreadConstraint,
  owner: Pod,
  cluster: Pick<ClusterView, "nodes" | "groups" | "nodeNamed">,
  takesPart: (node: Node) => boolean = () => true,
): Map<string, number> {
  const domainOf = (node: Node) => node.metadata.labels?.[constraint.topologyKey];
  const isIn = (node: Node) => takesPart(node) && constraint.counts(node);
  const byDomain = new Map<string, number>();
  for (const { node } of cluster.nodes) {
    const domain = domainOf(node);
    if (domain !== undefined && !byDomain.has(domain) && isIn(node)) byDomain.set(domain, 0);
  }
  for (const { pod, countByNode } of cluster.groups) {
    if (!isCounted(constraint, owner, pod)) continue;
    for (const [nodeName, pods] of countByNode) {
      const node = cluster.nodeNamed(nodeName)?.node;
      const domain = node && domainOf(node);
      if (node && domain !== undefined && isIn(node)) byDomain.set(domain, (byDomain.get(domain) ?? 0) + pods);
    }
  }
  return byDomain;
}
