// The quality-of-service class of a pod, from its requests and limits of cpu and memory.

import { compareQuantity, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import type { PodSpec } from "../../../plugins/kit/kube/objects/types.ts";

type Amounts = Record<string, string | number> | undefined;

const counted = ["cpu", "memory"];

export function qosClass(spec: PodSpec): "Guaranteed" | "Burstable" | "BestEffort" {
  let hasAny = false;
  let isGuaranteed = true;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const requests = container.resources?.requests as Amounts;
    const limits = container.resources?.limits as Amounts;
    for (const name of counted) {
      const request = positive(requests?.[name]);
      const limit = positive(limits?.[name]);
      if (request || limit) hasAny = true;
      if (!limit || (request && compareQuantity(request, limit) !== 0)) isGuaranteed = false;
    }
  }
  if (!hasAny) return "BestEffort";
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

function positive(value: string | number | undefined) {
  if (value === undefined) return undefined;
  const quantity = parseQuantity(value);
  return quantity.nano > 0n ? quantity : undefined;
}
