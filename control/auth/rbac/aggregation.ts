// What an aggregated cluster role must hold: the rules of every role its selectors match, in order of their names. Pure;
// the aggregation controller calls it and writes the answer.

import type { ClusterRole, LabelSelector, PolicyRule } from "./objects.ts";

type Matches = (selector: LabelSelector, labels: Record<string, string> | undefined) => boolean;

/** Undefined when the role aggregates nothing or already holds the right rules. */
export function aggregatedRules(
  role: ClusterRole,
  all: readonly ClusterRole[],
  matches: Matches,
): PolicyRule[] | undefined {
  const selectors = role.aggregationRule?.clusterRoleSelectors;
  if (!selectors?.length) return undefined;
  const rules: PolicyRule[] = [];
  const seen = new Set<string>();
  const chosen = new Set<ClusterRole>();
  for (const selector of selectors) {
    const byName = (a: ClusterRole, b: ClusterRole) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
    for (const other of all.filter((each) => matches(selector, each.metadata.labels)).sort(byName)) {
      if (other.metadata.name === role.metadata.name || chosen.has(other)) continue;
      chosen.add(other);
      for (const rule of other.rules ?? []) {
        const identity = JSON.stringify(rule);
        if (!seen.has(identity)) rules.push(rule);
        seen.add(identity);
      }
    }
  }
  return JSON.stringify(rules) === JSON.stringify(role.rules ?? []) ? undefined : rules;
}
