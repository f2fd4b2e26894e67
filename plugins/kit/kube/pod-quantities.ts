// Exact amounts for limits and quotas: quantities of a list, and what a pod as a whole asks for.

import type { Container, PodSpec } from "./objects/types.ts";
import { addQuantity, compareQuantity, parseQuantity, type Quantity } from "./quantity.ts";

export type Amounts = Map<string, Quantity>;

export function amountsFor(quantities: Readonly<Record<string, string | number>> | undefined): Amounts {
  const amounts: Amounts = new Map();
  for (const [name, text] of Object.entries(quantities ?? {})) amounts.set(name, parseQuantity(text));
  return amounts;
}

export function isRestartableInit(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/**
 * Containers and sidecars together, or the hungriest moment of initialisation (the largest init container beside the sidecars started
 * before it), whichever is more; what the pod as a whole declares stands instead; with the overhead. `usual` is what a container
 * counts for that does not say.
 */
export function podQuantities(
  spec: PodSpec,
  field: "requests" | "limits",
  usual: Readonly<Record<string, string>> = {},
): Amounts {
  const read = (resources: { requests?: unknown; limits?: unknown } | undefined) =>
    amountsFor({ ...usual, ...(resources?.[field] as Record<string, string> | undefined) });
  const total: Amounts = new Map();
  for (const container of spec.containers ?? []) add(total, read(container.resources));
  const sidecars: Amounts = new Map();
  const initial: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = read(container.resources);
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
  const whole = (spec as { resources?: Container["resources"] }).resources?.[field];
  for (const [name, amount] of amountsFor(whole as Record<string, string> | undefined)) total.set(name, amount);
  for (const [name, amount] of amountsFor(spec.overhead as Record<string, string> | undefined)) {
    if (field === "requests" || total.has(name)) add(total, new Map([[name, amount]]));
  }
  return total;
}

function add(to: Amounts, more: Amounts): void {
  for (const [name, amount] of more) {
    const own = to.get(name);
    to.set(name, own ? addQuantity(own, amount) : amount);
  }
}

/** Each amount becomes the larger of the two. */
export function raise(to: Amounts, other: Amounts): void {
  for (const [name, amount] of other) {
    const own = to.get(name);
    if (!own || compareQuantity(own, amount) < 0) to.set(name, amount);
  }
}
