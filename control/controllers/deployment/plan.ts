// The next step of a rollout, as a pure function: how many replicas each replica set should have now.

import { annotations, availableOf, type Deployment, type ReplicaSet, replicasOf, sum } from "./objects.ts";
import { isRolling, maxReplicas, rolloutLimits } from "./limits.ts";
import { byAge } from "./template.ts";

export interface Step {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

/**
 * How many replicas the newest set may have now, with the old ones as they are. `leaving` pods run beyond what their sets ask for:
 * they will be deleted, and until then they take up room.
 */
export function newSetReplicas(
  deployment: Deployment,
  sets: readonly ReplicaSet[],
  current: number,
  leaving: number,
): number {
  const wanted = deployment.spec.replicas ?? 1;
  if (!isRolling(deployment)) return wanted;
  const room = maxReplicas(deployment) - sum(sets, replicasOf) - leaving;
  return room <= 0 ? current : Math.min(current + room, Math.max(current, wanted));
}

/** Grow the new set as far as surge allows; otherwise shrink the old ones as far as availability allows. */
export function planRolling(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
  leaving: number,
): Step[] {
  const wanted = deployment.spec.replicas ?? 1;
  const all = newSet ? [...oldSets, newSet] : [...oldSets];
  if (newSet) {
    const current = replicasOf(newSet);
    const target = current > wanted ? wanted : newSetReplicas(deployment, all, current, leaving);
    if (target !== current) return [{ set: newSet, replicas: target }];
  }
  return shrinkOld(deployment, newSet, oldSets);
}

function shrinkOld(deployment: Deployment, newSet: ReplicaSet | undefined, oldSets: readonly ReplicaSet[]): Step[] {
  const wanted = deployment.spec.replicas ?? 1;
  const old = byAge(oldSets.filter((set) => replicasOf(set) > 0));
  if (old.length === 0) return [];
  const minAvailable = wanted - rolloutLimits(deployment).maxUnavailable;
  const all = newSet ? [...old, newSet] : old;
  const newUnavailable = newSet ? Math.max(0, replicasOf(newSet) - availableOf(newSet)) : 0;
  let removable = sum(all, replicasOf) - minAvailable - newUnavailable;
  if (removable <= 0) return [];
  const replicasBySet = new Map(old.map((set) => [set, replicasOf(set)]));
  // Pods that do not serve go first: taking them costs no availability.
  for (const set of old) {
    const unhealthy = Math.max(0, replicasOf(set) - availableOf(set));
    const take = Math.min(removable, unhealthy);
    replicasBySet.set(set, replicasOf(set) - take);
    removable -= take;
  }
  let spare = sum(all, availableOf) - minAvailable;
  for (const set of old) {
    if (spare <= 0) break;
    const current = replicasBySet.get(set) ?? 0;
    const take = Math.min(current, spare);
    replicasBySet.set(set, current - take);
    spare -= take;
  }
  return [...replicasBySet]
    .filter(([set, replicas]) => replicas !== replicasOf(set))
    .map(([set, replicas]) => ({ set, replicas }));
}

/**
 * The declared number changed: share the difference among the sets by their size, so that a paused rollout keeps its proportions.
 * Undefined as long as a set would have to grow beside pods that are `leaving`.
 */
export function planScale(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
  leaving: number,
): Step[] | undefined {
  const steps = shares(deployment, newSet, oldSets);
  const grows = steps.some(({ set, replicas }) => replicas > replicasOf(set));
  return grows && leaving > 0 ? undefined : steps;
}

function shares(deployment: Deployment, newSet: ReplicaSet | undefined, oldSets: readonly ReplicaSet[]): Step[] {
  const wanted = deployment.spec.replicas ?? 1;
  const sets = newSet ? [...oldSets, newSet] : [...oldSets];
  const active = byAge(sets.filter((set) => replicasOf(set) > 0));
  const only = active.length === 1 ? active[0] : active.length === 0 ? (newSet ?? byAge(sets).at(-1)) : undefined;
  if (only) return replicasOf(only) === wanted ? [] : [{ set: only, replicas: wanted }];
  // A saturated new set has all it needs: what is left of the old ones goes.
  if (newSet && replicasOf(newSet) === wanted && availableOf(newSet) === wanted) {
    return active.filter((set) => set !== newSet).map((set) => ({ set, replicas: 0 }));
  }
  if (!isRolling(deployment)) return [];
  const allowed = wanted > 0 ? maxReplicas(deployment) : 0;
  let left = allowed - sum(active, replicasOf);
  const order = [...active].sort((a, b) => replicasOf(b) - replicasOf(a) || (left > 0 ? -1 : 1) * age(a, b));
  const steps = order.map((set) => {
    const share = left === 0 ? 0 : proportion(deployment, set, allowed, left);
    left -= share;
    return { set, replicas: Math.max(0, replicasOf(set) + share) };
  });
  const [first] = steps;
  if (first && left !== 0) steps[0] = { set: first.set, replicas: Math.max(0, first.replicas + left) };
  return steps.filter((step) => step.replicas !== replicasOf(step.set));
}

const age = (a: ReplicaSet, b: ReplicaSet) =>
  Date.parse(a.metadata.creationTimestamp ?? "") - Date.parse(b.metadata.creationTimestamp ?? "") || 0;

function proportion(deployment: Deployment, set: ReplicaSet, allowed: number, left: number): number {
  const before =
    Number(set.metadata.annotations?.[annotations.maxReplicas]) || (deployment.status?.replicas ?? 0) || allowed;
  const fair = Math.round((replicasOf(set) * allowed) / before) - replicasOf(set);
  return left > 0 ? Math.min(Math.max(fair, 0), left) : Math.max(Math.min(fair, 0), left);
}

/** True when the sets were last sized for another number of replicas than is declared now. */
export function isScaling(deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  const wanted = String(deployment.spec.replicas ?? 1);
  return sets
    .filter((set) => replicasOf(set) > 0)
    .some((set) => (set.metadata.annotations?.[annotations.desiredReplicas] ?? wanted) !== wanted);
}
