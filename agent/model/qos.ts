// The quality of service class of a pod, from what its containers ask for.

import type { PodSpec } from "../../plugins/kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity, type Quantity } from "../../plugins/kit/kube/quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const computeResources = ["cpu", "memory"] as const;

export function qosClassOf(spec: PodSpec): QosClass {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.resources);
  // Resources of the pod as a whole, where given, stand for those of its containers.
  const all = spec.resources && Object.keys(spec.resources).length > 0 ? [spec.resources] : containers;
  let asksForAnything = false;
  let isGuaranteed = true;
  for (const resources of all) {
    for (const name of computeResources) {
      const request = positive(resources?.requests?.[name]);
      const limit = positive(resources?.limits?.[name]);
      if (request || limit) asksForAnything = true;
      if (!limit) isGuaranteed = false;
      else if (request && compareQuantity(request, limit) !== 0) isGuaranteed = false;
    }
  }
  if (!asksForAnything) return "BestEffort";
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** A quantity of zero counts as none. */
function positive(text: string | number | undefined): Quantity | undefined {
  if (text === undefined) return undefined;
  const quantity = parseQuantity(text);
  return quantity.nano > 0n ? quantity : undefined;
}
