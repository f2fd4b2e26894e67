// The decision for one pod: filter, then score, then the best node. Pure but for the choice among equals.

import type { Pod } from "../../plugins/kit/objects/types.ts";
import { type ClusterView, type FilterPlugin, type NodeView, Rejection, skip } from "../../plugins/kit/scheduling.ts";
import type { FitError } from "./fit-error.ts";
import type { Profile } from "./profile.ts";

export type Decision = { readonly node: NodeView; readonly feasible: number } | { readonly fitError: FitError };

/** A filter that has something to say about the pod, with what it prepared. */
export interface Prepared {
  readonly filter: FilterPlugin;
  readonly state: unknown;
}

export interface DecideOptions {
  /** Where in the list of nodes to begin, so that nodes take turns when only a part is looked at. */
  readonly startAt: number;
  /** The node that victims were driven from for this pod: it is taken when it fits. */
  readonly first?: string;
  /** 0 to 1, exclusive; picks among nodes with the same best score. */
  readonly random: () => number;
}

/**
 * How many feasible nodes are enough: all of them up to 100, then a falling share (50 % less 1 % for each 125 nodes, at
 * least 5 %, at least 100 nodes) or the share that the profile names, as kube-scheduler does it.
 */
export function enoughNodes(nodeCount: number, percentage?: number): number {
  if (nodeCount <= 100) return nodeCount;
  const percent = percentage ?? Math.max(5, 50 - Math.floor(nodeCount / 125));
  return Math.max(100, Math.floor((nodeCount * percent) / 100));
}

export function prepareFilters(
  pod: Pod,
  cluster: ClusterView,
  filters: readonly FilterPlugin[],
): Prepared[] | { rejectedBy: string; reason: string } {
  const prepared: Prepared[] = [];
  for (const filter of filters) {
    const state = filter.prepare?.(pod, cluster);
    if (state === skip) continue;
    if (state instanceof Rejection) return { rejectedBy: filter.name, reason: state.reason };
    prepared.push({ filter, state });
  }
  return prepared;
}

export function decide(
  pod: Pod,
  cluster: ClusterView,
  profile: Profile,
  options: DecideOptions,
): Decision & { lookedAt: number } {
  const nodes = cluster.nodes;
  const prepared = prepareFilters(pod, cluster, profile.filters);
  if (!Array.isArray(prepared)) {
    return {
      lookedAt: 0,
      fitError: {
        nodeCount: nodes.length,
        countByReason: new Map(),
        plugins: new Set([prepared.rejectedBy]),
        finalNodes: new Set(nodes.map((node) => node.name)),
        rejection: prepared.reason,
      },
    };
  }
  const promised = options.first === undefined ? undefined : cluster.nodeNamed(options.first);
  if (promised && !firstRefusal(pod, promised, prepared)) return { lookedAt: 0, node: promised, feasible: 1 };
  const enough = profile.scores.length === 0 ? 1 : enoughNodes(nodes.length, profile.percentageOfNodesToScore);
  const feasible: NodeView[] = [];
  const countByReason = new Map<string, number>();
  const plugins = new Set<string>();
  const finalNodes = new Set<string>();
  let lookedAt = 0;
  while (lookedAt < nodes.length && feasible.length < enough) {
    const node = nodes[(options.startAt + lookedAt++) % nodes.length] as NodeView;
    const refusal = firstRefusal(pod, node, prepared);
    if (!refusal) {
      feasible.push(node);
      continue;
    }
    plugins.add(refusal.plugin);
    if (refusal.final) finalNodes.add(node.name);
    for (const reason of refusal.reasons) countByReason.set(reason, (countByReason.get(reason) ?? 0) + 1);
  }
  if (feasible.length === 0)
    return { lookedAt, fitError: { nodeCount: nodes.length, countByReason, plugins, finalNodes } };
  const node =
    feasible.length === 1 ? (feasible[0] as NodeView) : best(pod, cluster, profile, feasible, options.random);
  return { lookedAt, node, feasible: feasible.length };
}

export function firstRefusal(
  pod: Pod,
  node: NodeView,
  prepared: readonly Prepared[],
): { plugin: string; reasons: readonly string[]; final: boolean } | undefined {
  for (const { filter, state } of prepared) {
    const result = filter.filter(pod, node, state);
    if (result) return { plugin: filter.name, ...result };
  }
  return undefined;
}

function best(
  pod: Pod,
  cluster: ClusterView,
  profile: Profile,
  feasible: readonly NodeView[],
  random: () => number,
): NodeView {
  const totals = totalScores(pod, cluster, profile, feasible);
  let winner = 0;
  let equals = 1;
  for (let index = 1; index < totals.length; index++) {
    const difference = (totals[index] as number) - (totals[winner] as number);
    if (difference > 0) {
      winner = index;
      equals = 1;
    } else if (difference === 0 && random() < 1 / ++equals) {
      winner = index;
    }
  }
  return feasible[winner] as NodeView;
}

/** The weighted sum of all scores, by position in `feasible`. */
function totalScores(pod: Pod, cluster: ClusterView, profile: Profile, feasible: readonly NodeView[]): number[] {
  const totals = feasible.map(() => 0);
  for (const { plugin, weight } of profile.scores) {
    const state = plugin.prepare?.(pod, cluster, feasible);
    if (state === skip) continue;
    const scores = feasible.map((node) => plugin.score(pod, node, state));
    plugin.normalize?.(scores, state);
    for (let index = 0; index < totals.length; index++)
      totals[index] = (totals[index] as number) + weight * (scores[index] as number);
  }
  return totals;
}
