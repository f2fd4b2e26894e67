// What a pod asks of a node in plain numbers, as the scheduler and the kubelet count it.

import type { Pod, PodSpec } from "./objects/types.ts";
import { type Amounts, amountsFor } from "./pod-quantities.ts";
import { parseQuantity, type Quantity, quantityMilli, quantityValue } from "./quantity.ts";
import { heldQuantities, holdingsOf } from "./resized-pod.ts";

/** CPU in thousandths of a core, everything else in whole units. */
export const amountOf = (resource: string, quantity: string | number): number =>
  numberOf(resource, parseQuantity(quantity));

export const amountsOf = (quantities: Readonly<Record<string, string | number>> | undefined): Map<string, number> =>
  numbersOf(amountsFor(quantities));

function numbersOf(amounts: Amounts): Map<string, number> {
  return new Map([...amounts].map(([resource, quantity]) => [resource, numberOf(resource, quantity)]));
}

const numberOf = (resource: string, quantity: Quantity): number =>
  Number(resource === "cpu" ? quantityMilli(quantity) : quantityValue(quantity));

const hasSpec = (pod: Pod): pod is Pod & { readonly spec: PodSpec } => pod.spec !== undefined;

const requestsByPod = new WeakMap<Pod, ReadonlyMap<string, number>>();

/** What a pod that nobody changes any more (one from an informer) requests: summed when first asked for, and kept with it. */
export function podRequests(pod: Pod): ReadonlyMap<string, number> {
  let requests = requestsByPod.get(pod);
  if (!requests) {
    requests = hasSpec(pod) ? numbersOf(heldQuantities(pod)) : new Map();
    requestsByPod.set(pod, requests);
  }
  return requests;
}

/** What a container counts for when nodes are compared though it asks for nothing, as upstream has it. */
const usualRequests = { cpu: "100m", memory: "200Mi" };
const usualAmounts = [...amountsOf(usualRequests)];
const weightsByPod = new WeakMap<Pod, ReadonlyMap<string, number>>();

/** The same for comparing nodes: containers that ask for no CPU or memory still count for some, or nodes full of them would look empty. */
export function podWeight(pod: Pod): ReadonlyMap<string, number> {
  let weight = weightsByPod.get(pod);
  if (!weight) {
    weight = weigh(pod);
    weightsByPod.set(pod, weight);
  }
  return weight;
}

function weigh(pod: Pod): ReadonlyMap<string, number> {
  if (!hasSpec(pod)) return new Map();
  const { spec } = pod;
  // Every version of every pod comes by here: most have nothing but containers, and need no second sum.
  if (spec.initContainers?.length || "resources" in spec || holdingsOf(pod))
    return numbersOf(heldQuantities(pod, usualRequests));
  const requests = podRequests(pod);
  let filled: Map<string, number> | undefined;
  for (const [resource, amount] of usualAmounts) {
    let silent = 0;
    for (const { resources } of spec.containers)
      if ((resources?.requests as Record<string, unknown> | undefined)?.[resource] === undefined) silent++;
    if (silent === 0) continue;
    filled ??= new Map(requests);
    filled.set(resource, (filled.get(resource) ?? 0) + silent * amount);
  }
  return filled ?? requests;
}

/** Done for good: neither runs nor will run, so it holds no resources. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}
