// Decides whether a write fits a quota, and what the quota's use is after it. Pure.

import { type AdmissionRequest } from "../../kit/contracts/admission.ts";
import type { KubeObject, Pod } from "../../kit/kube/objects/types.ts";
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantity,
  zeroQuantity,
} from "../../kit/kube/quantity.ts";
import { isInScope, type ResourceQuota } from "../../kit/quota/scopes.ts";
import { missingRequirements, type Usage, usageOf } from "../../kit/quota/usage.ts";

export type Verdict =
  | { readonly fits: true; readonly used?: Record<string, string> }
  | { readonly fits: false; readonly why: string };

/** What the write adds; undefined when it adds nothing that quotas count. */
export function addedUsage(request: AdmissionRequest): Usage | undefined {
  const of = { group: request.group, plural: request.resource };
  if (!request.object) return undefined;
  const next = usageOf(of, request.object);
  if (request.operation === "CREATE") return next;
  if (!request.oldObject) return undefined;
  const before = usageOf(of, request.oldObject);
  const added: Usage = new Map();
  for (const [name, amount] of next) {
    const more = subtractQuantity(amount, before.get(name) ?? zeroQuantity);
    if (more.nano > 0n) added.set(name, more);
  }
  return added.size > 0 ? added : undefined;
}

export function charge(quota: ResourceQuota, request: AdmissionRequest, added: Usage): Verdict {
  const of = { group: request.group, plural: request.resource };
  const object = request.object as KubeObject;
  if (!isInScope(quota, of, object)) return { fits: true };
  const hard = quota.status?.hard ?? {};
  const name = quota.metadata.name ?? "";
  const limited = Object.keys(quota.spec?.hard ?? {})
    .filter((each) => added.has(each))
    .sort();
  if (of.group === "" && of.plural === "pods" && request.operation === "CREATE") {
    const missing = missingRequirements(object as unknown as Pod, Object.keys(quota.spec?.hard ?? {}));
    if (missing.length > 0) return { fits: false, why: `failed quota: ${name}: must specify ${missing.join("; ")}` };
  }
  if (limited.length === 0) return { fits: true };
  const unknown = limited.filter((each) => hard[each] === undefined || quota.status?.used?.[each] === undefined);
  if (unknown.length > 0)
    return { fits: false, why: `status unknown for quota: ${name}, resources: ${unknown.join(",")}` };
  const used = new Map(limited.map((each) => [each, parseQuantity(quota.status?.used?.[each] ?? "0")]));
  const next = new Map(
    limited.map((each) => [each, addQuantity(used.get(each) ?? zeroQuantity, added.get(each) ?? zeroQuantity)]),
  );
  const exceeded = limited.filter(
    (each) => compareQuantity(next.get(each) ?? zeroQuantity, parseQuantity(hard[each] ?? "0")) > 0,
  );
  if (exceeded.length > 0) {
    const list = (values: ReadonlyMap<string, Quantity>) =>
      exceeded.map((each) => `${each}=${formatQuantity(values.get(each) ?? zeroQuantity)}`).join(",");
    const limits = new Map(exceeded.map((each) => [each, parseQuantity(hard[each] ?? "0")]));
    return {
      fits: false,
      why: `exceeded quota: ${name}, requested: ${list(added)}, used: ${list(used)}, limited: ${list(limits)}`,
    };
  }
  const after = Object.fromEntries([...next].map(([each, amount]) => [each, formatQuantity(amount)]));
  return { fits: true, used: { ...quota.status?.used, ...after } };
}
