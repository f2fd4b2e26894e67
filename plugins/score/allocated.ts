// How full a node would be with the pod on it, resource by resource: what the allocation scores judge, and how each is told
// which resources count and how much.

import { checkSettings, integer, listOf, object, string, that, withDefault } from "../kit/base/config-check.ts";
import type { Amounts } from "../kit/contracts/scheduling.ts";

export interface ResourceWeight {
  readonly name: string;
  readonly weight: number;
}

export const cpuAndMemory: readonly ResourceWeight[] = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];

/** Kinds that a node always has; any other counts only for pods that ask for it. */
const always = new Set(["cpu", "memory", "ephemeral-storage"]);

/** A resource that counts for a pod, with what the pod would take of it. */
export interface Counted extends ResourceWeight {
  readonly own: number;
}

/** Once for each pod, so that a node costs two look-ups for each resource and nothing else. */
export function countedFor(resources: readonly ResourceWeight[], wanted: Amounts): Counted[] {
  return resources
    .map(({ name, weight }) => ({ name, weight, own: wanted.get(name) ?? 0 }))
    .filter(({ name, own }) => own > 0 || always.has(name));
}

/** The weighted mean of what each resource is worth, in whole points; what the node has nothing of does not count. */
export function meanPoints(
  allocatable: Amounts,
  taken: Amounts,
  counted: readonly Counted[],
  points: (used: number, most: number) => number,
): number {
  let sum = 0;
  let weights = 0;
  for (const { name, weight, own } of counted) {
    const most = allocatable.get(name);
    if (!most) continue;
    sum += points((taken.get(name) ?? 0) + own, most) * weight;
    weights += weight;
  }
  return weights === 0 ? 0 : Math.floor(sum / weights);
}

/** A list of resources with weights; none means CPU and memory, and a weight of 0 or none means 1. */
export const resourceList =
  ({ maxWeight = 100 } = {}) =>
  (raw: unknown, where: string): readonly ResourceWeight[] => {
    const weight = withDefault(integer({ min: 0, max: maxWeight }), 1);
    const item = object({ name: that(string, (name) => name !== "", "the name of a resource"), weight });
    const given = withDefault(listOf(item), [])(raw, where);
    return given.length === 0 ? cpuAndMemory : given.map((one) => ({ name: one.name, weight: one.weight || 1 }));
  };

/** The arguments of one scoring strategy that knows nothing but resources. */
export function strategyResources(raw: unknown, where: string): readonly ResourceWeight[] {
  return checkSettings(raw, { resources: resourceList() }, where).resources;
}
