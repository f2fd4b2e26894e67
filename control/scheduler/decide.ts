// The decision for one pod: filter, then score, then the best node. Pure but for the choice among equals.

import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import {
  type ClusterView,
  type FilterPlugin,
  type NodeView,
  Rejection,
  skip,
} from "../../plugins/kit/contracts/scheduling.ts";
import { type FitError, Refusals } from "./fit-error.ts";
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

/** The nodes that fit, and why the others do not. */
export interface Feasible {
  readonly nodes: readonly NodeView[];
  readonly refusals: Refusals;
  /** How many nodes were asked. */
  readonly lookedAt: number;
}

/** `enough` is how many nodes that fit will do; as many as the profile says when absent. */
export function findFeasible(
  pod: Pod,
  cluster: ClusterView,
  profile: Profile,
  { startAt, first, enough: asked }: Pick<DecideOptions, "startAt" | "first"> & { readonly enough?: number },
): Feasible {
  const nodes = cluster.nodes;
  const refusals = new Refusals(nodes.length);
  const prepared = prepareFilters(pod, cluster, profile.filters);
  if (!Array.isArray(prepared)) {
    refusals.rejectAll(prepared.rejectedBy, prepared.reason, nodes);
    return { nodes: [], refusals, lookedAt: 0 };
  }
  const promised = first === undefined ? undefined : cluster.nodeNamed(first);
  if (promised && !firstRefusal(pod, promised, prepared)) return { nodes: [promised], refusals, lookedAt: 0 };
  const enough =
    asked ?? (profile.scores.length === 0 ? 1 : enoughNodes(nodes.length, profile.percentageOfNodesToScore));
  const feasible: NodeView[] = [];
  let lookedAt = 0;
  while (lookedAt < nodes.length && feasible.length < enough) {
    const node = nodes[(startAt + lookedAt++) % nodes.length] as NodeView;
    const refusal = firstRefusal(pod, node, prepared);
    if (refusal) refusals.add(node.name, refusal);
    else feasible.push(node);
  }
  return { nodes: feasible, refusals, lookedAt };
}

export function decide(
  pod: Pod,
  cluster: ClusterView,
  profile: Profile,
  options: DecideOptions,
): Decision & { lookedAt: number } {
  const { nodes, refusals, lookedAt } = findFeasible(pod, cluster, profile, options);
  if (nodes.length === 0) return { lookedAt, fitError: refusals };
  return { lookedAt, node: chooseNode(pod, cluster, profile, nodes, options), feasible: nodes.length };
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

/** The best of the nodes that fit; `extra` are points from elsewhere, by node. */
export function chooseNode(
  pod: Pod,
  cluster: ClusterView,
  profile: Profile,
  feasible: readonly NodeView[],
  { random, extra }: Pick<DecideOptions, "random"> & { readonly extra?: ReadonlyMap<string, number> },
): NodeView {
  if (feasible.length === 1) return feasible[0] as NodeView;
  const totals = totalScores(pod, cluster, profile, feasible);
  if (extra)
    for (const [index, { name }] of feasible.entries())
      totals[index] = (totals[index] as number) + (extra.get(name) ?? 0);
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
