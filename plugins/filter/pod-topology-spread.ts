// PodTopologySpread: the difference between the fullest and the emptiest domain stays within maxSkew.

import {
  countByDomain,
  defaultSpread,
  isCounted,
  type SpreadConstraint,
  spreadConstraints,
} from "../kit/scheduling/topology-spread.ts";
import type { Node, Pod } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";
import { type DefaultConstraint, podTopologySpreadDefaults } from "../kit/scheduling/scheduling-arguments.ts";

interface Counted {
  readonly constraint: SpreadConstraint;
  /** Matching pods by the domain's value. */
  readonly byDomain: Map<string, number>;
  readonly owner: Pod;
  /** Of the emptiest domain, once it was asked for; undefined after a change. */
  least: number | undefined;
}

const missingLabel = {
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
  final: true,
};
const tooSkewed = { reasons: ["node(s) didn't match pod topology spread constraints"], final: false };

function leastOf(counted: Counted): number {
  const { constraint, byDomain } = counted;
  // With fewer domains than asked for, those that are missing count as empty.
  if (byDomain.size < constraint.minDomains) return 0;
  return (counted.least ??= [...byDomain.values()].reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY));
}

const filterOf = (defaults: readonly DefaultConstraint[]): FilterPlugin => ({
  name: "PodTopologySpread",
  retryOn: ["Pod/*", "Node/*"],
  withArguments: (raw, where) => filterOf(podTopologySpreadDefaults(raw, where).constraints),
  prepare(pod, cluster) {
    const own = spreadConstraints(pod, "DoNotSchedule");
    const constraints = own.length > 0 ? own : defaultSpread(pod, defaults, "DoNotSchedule", cluster);
    if (constraints.length === 0) return skip;
    const hasAllKeys = (node: Node) =>
      constraints.every(({ topologyKey }) => node.metadata.labels?.[topologyKey] !== undefined);
    return constraints.map(
      (constraint): Counted => ({
        constraint,
        byDomain: countByDomain(constraint, pod, cluster, hasAllKeys),
        owner: pod,
        least: undefined,
      }),
    );
  },
  filter(pod, { node }, prepared) {
    for (const counted of prepared as Counted[]) {
      const { constraint, byDomain } = counted;
      const domain = node.metadata.labels?.[constraint.topologyKey];
      if (domain === undefined) return missingLabel;
      const self = constraint.selector.matches(pod.metadata.labels) ? 1 : 0;
      if ((byDomain.get(domain) ?? 0) + self - leastOf(counted) > constraint.maxSkew) return tooSkewed;
    }
    return undefined;
  },
  changed(prepared, { node }, changedPod, change) {
    for (const counted of prepared as Counted[]) {
      const { constraint, byDomain, owner } = counted;
      const domain = node.metadata.labels?.[constraint.topologyKey];
      if (domain === undefined || !isCounted(constraint, owner, changedPod) || !constraint.counts(node)) continue;
      byDomain.set(domain, (byDomain.get(domain) ?? 0) + (change === "added" ? 1 : -1));
      counted.least = undefined;
    }
  },
  copy: (prepared) => (prepared as Counted[]).map((counted) => ({ ...counted, byDomain: new Map(counted.byDomain) })),
});

export const podTopologySpread: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "PodTopologySpread",
  open: () => filterOf([]),
};
