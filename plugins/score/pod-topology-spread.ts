// PodTopologySpread: the fewer matching pods in a node's domains the better, for constraints that only ask (ScheduleAnyway).
// Pods of a service, replica set or stateful set that set none are spread over nodes and zones all the same, or as the profile says.

import type { Node } from "../kit/kube/objects/types.ts";
import {
  countByDomain,
  defaultSpread,
  type SpreadConstraint,
  spreadConstraints,
} from "../kit/scheduling/topology-spread.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";
import { podTopologySpreadDefaults, systemSpread } from "../kit/scheduling/scheduling-arguments.ts";

interface Counted {
  readonly constraint: SpreadConstraint;
  readonly byDomain: ReadonlyMap<string, number>;
  /** Keys with many values weigh more, so that a zone is not drowned by its hosts. */
  readonly weight: number;
}

type Defaults = ReturnType<typeof podTopologySpreadDefaults>;

/** Any score this high means that the node lacks a key: worst of all. */
const withoutKey = Number.POSITIVE_INFINITY;

const scoreOf = (defaults: Defaults): ScorePlugin => ({
  name: "PodTopologySpread",
  weight: 2,
  withArguments: (raw, where) => scoreOf(podTopologySpreadDefaults(raw, where)),
  prepare(pod, cluster, feasible) {
    const asked = spreadConstraints(pod, "ScheduleAnyway");
    const isDefault = asked.length === 0 && defaults.isSystem;
    const constraints = asked.length > 0 ? asked : defaultSpread(pod, defaults.constraints, "ScheduleAnyway", cluster);
    const present = constraints.filter((constraint) =>
      feasible.some(({ node }) => node.metadata.labels?.[constraint.topologyKey]),
    );
    if (present.length === 0) return skip;
    // Where the pod asks by itself, or the profile for it, a node that lacks one of the keys takes no part at all.
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
});

export const podTopologySpreadScore: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "PodTopologySpread",
  open: () => scoreOf(systemSpread),
};
