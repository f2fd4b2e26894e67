// What a pod asks of a node, as the scheduler, quotas and the kubelet all count it.

import type { Container, Pod, PodSpec } from "./objects/types.ts";
import { parseQuantity, quantityMilli, quantityValue } from "./quantity.ts";

type Amount = Map<string, number>;

/** CPU in thousandths of a core, everything else in whole units. */
export function amountOf(resource: string, quantity: string | number): number {
  const parsed = parseQuantity(quantity);
  return Number(resource === "cpu" ? quantityMilli(parsed) : quantityValue(parsed));
}

export function amountsOf(quantities: Readonly<Record<string, string | number>> | undefined): Amount {
  const amounts: Amount = new Map();
  for (const [resource, quantity] of Object.entries(quantities ?? {}))
    amounts.set(resource, amountOf(resource, quantity));
  return amounts;
}

export function isRestartableInit(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/**
 * The effective amount: containers and sidecars together, or the largest init container beside the sidecars started
 * before it, whichever is more; plus the pod's overhead. `field` chooses requests or limits.
 */
export function podAmounts(spec: PodSpec, field: "requests" | "limits" = "requests"): Amount {
  const total: Amount = new Map();
  for (const container of spec.containers) add(total, amountsOf(container.resources?.[field]));
  const sidecars: Amount = new Map();
  const initial: Amount = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container.resources?.[field]);
    if (isRestartableInit(container)) {
      add(total, own);
      add(sidecars, own);
      raise(initial, sidecars);
    } else {
      add(own, sidecars);
      raise(initial, own);
    }
  }
  raise(total, initial);
  const podLevel = amountsOf((spec as { resources?: Container["resources"] }).resources?.[field]);
  for (const [resource, amount] of podLevel) total.set(resource, amount);
  if (spec.overhead && (field === "requests" || total.size > 0)) {
    for (const [resource, amount] of amountsOf(spec.overhead)) {
      if (field === "requests" || total.has(resource)) total.set(resource, (total.get(resource) ?? 0) + amount);
    }
  }
  return total;
}

const requestsByPod = new WeakMap<Pod, ReadonlyMap<string, number>>();

/** What a pod that nobody changes any more (one from an informer) requests: summed when first asked for, and kept with it. */
export function podRequests(pod: Pod): ReadonlyMap<string, number> {
  let requests = requestsByPod.get(pod);
  if (!requests) {
    requests = pod.spec ? podAmounts(pod.spec) : new Map();
    requestsByPod.set(pod, requests);
  }
  return requests;
}

function add(to: Amount, more: ReadonlyMap<string, number>): void {
  for (const [resource, amount] of more) to.set(resource, (to.get(resource) ?? 0) + amount);
}

function raise(to: Amount, other: ReadonlyMap<string, number>): void {
  for (const [resource, amount] of other) to.set(resource, Math.max(to.get(resource) ?? 0, amount));
}

/** Done for good: neither runs nor will run, so it holds no resources. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}
