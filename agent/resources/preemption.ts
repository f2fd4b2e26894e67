// Whom a critical pod takes the place of when it does not fit: as few as can be, those without claims first. Pure.

import { type AgentPod, isCriticalPod } from "../model/agent-pod.ts";
import { qosClassOf } from "../model/qos.ts";

/** How much of each resource is missing. */
export type Missing = ReadonlyMap<string, bigint>;

/** What a pod gives back of each resource when it goes. */
type Gives = (pod: AgentPod) => ReadonlyMap<string, bigint>;

/** Undefined when not even all that may be preempted would do. */
export function podsToPreempt(
  preemptor: AgentPod,
  pods: readonly AgentPod[],
  missing: Missing,
  gives: Gives,
): readonly AgentPod[] | undefined {
  const candidates = pods.filter((pod) => mayPreempt(preemptor, pod));
  const of = (qosClass: string) => candidates.filter(({ spec }) => qosClassOf(spec) === qosClass);
  const [bestEffort, burstable, guaranteed] = [of("BestEffort"), of("Burstable"), of("Guaranteed")];
  if (without(missing, candidates, gives).size > 0) return undefined;
  // Each class gives only what all of the lesser ones together could not.
  const fromGuaranteed = nearest(guaranteed, without(missing, [...bestEffort, ...burstable], gives), gives);
  const fromBurstable = nearest(burstable, without(missing, [...bestEffort, ...fromGuaranteed], gives), gives);
  const rest = without(missing, [...fromBurstable, ...fromGuaranteed], gives);
  return [...nearest(bestEffort, rest, gives), ...fromBurstable, ...fromGuaranteed];
}

function mayPreempt(preemptor: AgentPod, pod: AgentPod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [own, other] = [preemptor.spec.priority, pod.spec.priority];
  return own !== undefined && other !== undefined && own > other;
}

function without(missing: Missing, pods: readonly AgentPod[], gives: Gives): Missing {
  const left = new Map(missing);
  for (const pod of pods) {
    const given = gives(pod);
    for (const [name, amount] of left) left.set(name, amount - (given.get(name) ?? 0n));
  }
  return new Map([...left].filter(([, amount]) => amount > 0n));
}

/** Again and again the pod that comes closest to what is still missing; of two, the one that asks for less. */
function nearest(pods: readonly AgentPod[], missing: Missing, gives: Gives): AgentPod[] {
  const chosen: AgentPod[] = [];
  for (let left = missing; left.size > 0; left = without(missing, chosen, gives)) {
    const free = pods.filter((pod) => !chosen.includes(pod));
    const [best] = free.sort((a, b) => distance(left, gives(a)) - distance(left, gives(b)) || size(a, b, gives));
    if (!best) break;
    chosen.push(best);
  }
  return chosen;
}

function distance(missing: Missing, given: ReadonlyMap<string, bigint>): number {
  let sum = 0;
  for (const [name, amount] of missing) {
    const left = Number(amount - (given.get(name) ?? 0n));
    if (left > 0) sum += (left / Number(amount)) ** 2;
  }
  return sum;
}

function size(a: AgentPod, b: AgentPod, gives: Gives): number {
  const compare = (name: string) => Number((gives(a).get(name) ?? 0n) - (gives(b).get(name) ?? 0n));
  return compare("memory") || compare("cpu");
}
