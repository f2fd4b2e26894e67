// Preemption: when no node fits, which pods of lower priority would have to go for this one to fit somewhere. Pure.
// On a node all lower pods are taken away, then as many as possible are put back, the most important first; of enough such nodes
// the one whose victims matter least is chosen, as upstream ranks them.

import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../plugins/kit/kube/selector.ts";
import type { ClusterView } from "../../plugins/kit/contracts/scheduling.ts";
import { firstRefusal, type Prepared, prepareFilters } from "./decide.ts";
import type { FitError } from "./fit-error.ts";
import type { NodeInfo } from "./node-info.ts";
import type { CandidateCount, Profile } from "./profile.ts";

export interface DisruptionBudget {
  readonly metadata: { readonly namespace?: string; readonly name?: string };
  readonly spec?: { readonly selector?: object };
  readonly status?: { readonly disruptionsAllowed?: number; readonly disruptedPods?: Readonly<Record<string, string>> };
}

export interface Preemption {
  readonly nodeName: string;
  readonly victims: readonly Pod[];
}

export interface Candidate extends Preemption {
  readonly violations: number;
  /** What the ranking compares, in order; smaller is better. */
  readonly damage: readonly number[];
  /** When the first of the most important victims began, as the API writes times: later is better. */
  readonly earliest: string;
}

const priorityOf = (pod: Pod) => pod.spec?.priority ?? 0;
/** Times of the API sort as they are written. */
const startOf = (pod: Pod) => pod.status?.startTime ?? pod.metadata.creationTimestamp ?? "";

/** More important first: higher priority, then longer running. */
const byImportance = (a: Pod, b: Pod) =>
  priorityOf(b) - priorityOf(a) || (startOf(a) < startOf(b) ? -1 : startOf(a) > startOf(b) ? 1 : 0);

const usualCount: CandidateCount = { percentage: 10, absolute: 100 };

/** How many nodes are tried for real: a share of those that could help, and at least so many, as kube-scheduler does it. */
export function enoughCandidates(nodeCount: number, { percentage, absolute } = usualCount): number {
  return Math.max(absolute, Math.floor((nodeCount * percentage) / 100));
}

export function isLower(pod: Pod, than: Pod): boolean {
  return priorityOf(pod) < priorityOf(than);
}

export function mayPreempt(pod: Pod): boolean {
  return pod.spec?.preemptionPolicy !== "Never";
}

type Cluster = ClusterView & { readonly nodes: readonly NodeInfo[] };

/** Where pods could go for this one, and which: enough nodes to choose from, at least one without breaking a budget if there is any. */
export function findCandidates(
  pod: Pod,
  cluster: Cluster,
  profile: Profile,
  fitError: FitError,
  { budgets, startAt = 0 }: { readonly budgets: readonly DisruptionBudget[]; readonly startAt?: number },
): Candidate[] {
  if (!mayPreempt(pod)) return [];
  const prepared = prepareFilters(pod, cluster, profile.filters);
  if (!Array.isArray(prepared)) return [];
  const nodes = cluster.nodes;
  const enough = enoughCandidates(nodes.length - fitError.finalNodes.size, profile.candidates);
  const found: Candidate[] = [];
  let isHarmless = false;
  for (let tried = 0; tried < nodes.length && !(isHarmless && found.length >= enough); tried++) {
    const node = nodes[(startAt + tried) % nodes.length] as NodeInfo;
    const candidate = fitError.finalNodes.has(node.name) ? undefined : victimsOn(node, pod, prepared, budgets);
    if (!candidate) continue;
    found.push(candidate);
    isHarmless ||= candidate.violations === 0;
  }
  return found;
}

/** The one whose victims matter least; the first among equals. */
export function leastDamage(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const candidate of candidates) if (!best || isLessDamage(candidate, best)) best = candidate;
  return best;
}

function victimsOn(
  node: NodeInfo,
  pod: Pod,
  prepared: readonly Prepared[],
  budgets: readonly DisruptionBudget[],
): Candidate | undefined {
  const lower = node.pods.filter((other) => isLower(other, pod));
  if (lower.length === 0) return undefined;
  const trial = node.clone();
  const states = prepared.map(({ filter, state }) => ({ filter, state: filter.copy ? filter.copy(state) : state }));
  const change = (other: Pod, what: "added" | "removed") => {
    if (what === "removed") trial.removePod(other.metadata.uid ?? "");
    else trial.addPod(other);
    for (const { filter, state } of states) filter.changed?.(state, trial, other, what);
  };
  for (const other of lower) change(other, "removed");
  if (firstRefusal(pod, trial, states)) return undefined;
  const { violating, others } = splitByBudget([...lower].sort(byImportance), budgets);
  const victims: Pod[] = [];
  let violations = 0;
  const putBack = (other: Pod): boolean => {
    change(other, "added");
    if (!firstRefusal(pod, trial, states)) return true;
    change(other, "removed");
    victims.push(other);
    return false;
  };
  for (const other of violating) if (!putBack(other)) violations++;
  for (const other of others) putBack(other);
  return victims.length === 0 ? undefined : candidateOf(node.name, victims, violations);
}

/** Pods whose loss no budget has room for come first when pods are put back. */
function splitByBudget(
  pods: readonly Pod[],
  budgets: readonly DisruptionBudget[],
): { violating: Pod[]; others: Pod[] } {
  const left = budgets.map(({ status }) => status?.disruptionsAllowed ?? 0);
  const violating: Pod[] = [];
  const others: Pod[] = [];
  for (const pod of pods) {
    let isViolating = false;
    for (const [index, budget] of budgets.entries()) {
      const selector = labelSelectorOf(budget.spec?.selector);
      const isMeant =
        budget.metadata.namespace === pod.metadata.namespace &&
        !selector.isEverything &&
        selector.matches(pod.metadata.labels);
      if (!isMeant || budget.status?.disruptedPods?.[pod.metadata.name ?? ""]) continue;
      left[index] = (left[index] ?? 0) - 1;
      if ((left[index] as number) < 0) isViolating = true;
    }
    (isViolating ? violating : others).push(pod);
  }
  return { violating, others };
}

/** Ranked by: fewest budget violations, then least important highest victim, least sum of priorities, fewest victims, youngest. */
export function candidateOf(nodeName: string, given: readonly Pod[], violations: number): Candidate {
  const victims = [...given].sort(byImportance);
  const highest = priorityOf(victims[0] as Pod);
  const sum = victims.reduce((total, victim) => total + priorityOf(victim) + 2 ** 31, 0);
  // They are in order: the first of the highest is the one that began first.
  return {
    nodeName,
    victims,
    violations,
    damage: [violations, highest, sum, victims.length],
    earliest: startOf(victims[0] as Pod),
  };
}

function isLessDamage(a: Candidate, b: Candidate): boolean {
  for (const [index, damage] of a.damage.entries()) {
    const difference = damage - (b.damage[index] as number);
    if (difference !== 0) return difference < 0;
  }
  return a.earliest > b.earliest;
}
