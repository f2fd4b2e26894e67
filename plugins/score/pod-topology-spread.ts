// PodTopologySpread: the fewer matching pods in a node's domains the better, for constraints that only ask (ScheduleAnyway).
// Pods of a service, replica set or stateful set that set none are spread over nodes and zones all the same.

import { controllerSelector } from "../kit/objects/pod-controllers.ts";
import type { Node, Pod } from "../kit/objects/types.ts";
import { countByDomain, type SpreadConstraint, spreadConstraints } from "../kit/objects/topology-spread.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type ClusterView, type ScorePlugin, scoreKind, skip } from "../kit/scheduling.ts";

interface Counted {
  readonly constraint: SpreadConstraint;
  readonly byDomain: ReadonlyMap<string, number>;
  /** Keys with many values weigh more, so that a zone is not drowned by its hosts. */
  readonly weight: number;
}

/** Any score this high means that the node lacks a key: worst of all. */
const withoutKey = Number.POSITIVE_INFINITY;

function defaultConstraints(pod: Pod, cluster: ClusterView): SpreadConstraint[] {
  if ((pod.spec?.topologySpreadConstraints?.length ?? 0) > 0) return [];
  const selector = controllerSelector(pod, cluster);
  if (!selector) return [];
  const counts = () => true;
  return [
    { maxSkew: 3, topologyKey: "kubernetes.io/hostname", minDomains: 1, selector, counts },
    { maxSkew: 5, topologyKey: "topology.kubernetes.io/zone", minDomains: 1, selector, counts },
  ];
}

const score: ScorePlugin = {
  name: "PodTopologySpread",
  weight: 2,
  prepare(pod, cluster, feasible) {
    const asked = spreadConstraints(pod, "ScheduleAnyway");
    const isDefault = asked.length === 0;
    const constraints = isDefault ? defaultConstraints(pod, cluster) : asked;
    const present = constraints.filter((constraint) =>
      feasible.some(({ node }) => node.metadata.labels?.[constraint.topologyKey]),
    );
    if (present.length === 0) return skip;
    // Where the pod asks by itself, a node that lacks one of the keys takes no part at all.
    const takesPart = (node: Node) =>
      isDefault || constraints.every(({ topologyKey }) => node.metadata.labels?.[topologyKey] !== undefined);
    return {
      isDefault,
      counted: present.map((constraint): Counted => {
        const byDomain = countByDomain(constraint, pod, cluster, takesPart);
        const domains = new Set(
          feasible.flatMap(({ node }) => (takesPart(node) ? [node.metadata.labels?.[constraint.topologyKey]] : [])),
        );
        domains.delete(undefined);
        return { constraint, byDomain, weight: Math.log(domains.size + 2) };
      }),
    };
  },
  score(_pod, { node }, prepared) {
    const { counted, isDefault } = prepared as { counted: Counted[]; isDefault: boolean };
    let sum = 0;
    for (const { constraint, byDomain, weight } of counted) {
      const domain = node.metadata.labels?.[constraint.topologyKey];
      if (domain === undefined) {
        if (isDefault) continue;
        return withoutKey;
      }
      sum += (byDomain.get(domain) ?? 0) * weight + (constraint.maxSkew - 1);
    }
    return Math.round(sum);
  },
  normalize(scores) {
    const finite = scores.filter(Number.isFinite);
    const max = Math.max(0, ...finite);
    const min = Math.min(max, ...finite);
    for (let index = 0; index < scores.length; index++) {
      const raw = scores[index] as number;
      scores[index] = !Number.isFinite(raw) ? 0 : max === 0 ? 100 : Math.floor((100 * (max + min - raw)) / max);
    }
  },
};

export const podTopologySpreadScore: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "PodTopologySpread",
  open: () => score,
};
