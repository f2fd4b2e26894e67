// InterPodAffinity: preferred affinity and anti-affinity, the pod's own and that of pods already there towards it.

import { checkSettings } from "../kit/base/config-check.ts";
import { affinityMatcher, preferredTerms, requiredTerms } from "../kit/scheduling/pod-affinity.ts";
import type { Namespace, Pod } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";
import { interPodAffinityArguments } from "../kit/scheduling/scheduling-arguments.ts";
import { normalizeByRange } from "./normalize.ts";

/** Points by topology key and value. */
type Points = Map<string, Map<string, number>>;

interface Options {
  /** What a required affinity of a pod already there is worth towards a newcomer that it wants near. */
  readonly hardPodAffinityWeight: number;
  /** Pods that prefer nothing themselves are then placed without asking what others prefer of them. */
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

/** Required anti-affinity alone is a matter of the filter. */
function speaksOfOthers({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  return podAffinity !== undefined || podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution !== undefined;
}

const scoreOf = ({ hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }: Options): ScorePlugin => ({
  name: "InterPodAffinity",
  weight: 2,
  withArguments: (raw, where) => scoreOf(checkSettings(raw, interPodAffinityArguments, where)),
  prepare(pod, cluster) {
    const namespaceOf = (name: string) => cluster.get<Namespace>("namespaces", "", name);
    const weighted = (owner: Pod) => [
      ...preferredTerms(owner, "podAffinity").map(({ weight, podAffinityTerm }) => ({
        weight,
        term: affinityMatcher(owner, podAffinityTerm, namespaceOf),
      })),
      ...preferredTerms(owner, "podAntiAffinity").map(({ weight, podAffinityTerm }) => ({
        weight: -weight,
        term: affinityMatcher(owner, podAffinityTerm, namespaceOf),
      })),
    ];
    const own = weighted(pod);
    if (ignorePreferredTermsOfExistingPods && own.length === 0) return skip;
    const points: Points = new Map();
    const add = (topologyKey: string, value: string | undefined, by: number) => {
      if (value === undefined) return;
      const byValue = points.get(topologyKey) ?? new Map<string, number>();
      points.set(topologyKey, byValue.set(value, (byValue.get(value) ?? 0) + by));
    };
    for (const { pod: other, countByNode } of cluster.groups) {
      const said = own.filter(({ term }) => term.matches(other));
      if (speaksOfOthers(other)) {
        const hard = requiredTerms(other, "podAffinity").map((term) => ({
          weight: hardPodAffinityWeight,
          term: affinityMatcher(other, term, namespaceOf),
        }));
        said.push(...[...weighted(other), ...hard].filter(({ term }) => term.matches(pod)));
      }
      if (said.length === 0) continue;
      for (const [nodeName, pods] of countByNode) {
        const labels = cluster.nodeNamed(nodeName)?.node.metadata.labels;
        for (const { weight, term } of said) add(term.topologyKey, labels?.[term.topologyKey], weight * pods);
      }
    }
    return points.size === 0 ? skip : points;
  },
  score(_pod, { node }, prepared) {
    let sum = 0;
    for (const [topologyKey, byValue] of prepared as Points)
      sum += byValue.get(node.metadata.labels?.[topologyKey] ?? "") ?? 0;
    return sum;
  },
  normalize: (scores) => normalizeByRange(scores),
});

export const interPodAffinityScore: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "InterPodAffinity",
  open: () => scoreOf({ hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false }),
};
