// Validation of what a node reports of itself: amounts that can be, and each address once.

import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import { duplicate, type FieldErrors } from "../../machinery/field-error.ts";
import { type Amounts, validateAmount } from "../resource-names.ts";

export function validateNodeAmounts({ status }: Node): FieldErrors {
  const errors: FieldErrors = [];
  for (const list of ["capacity", "allocatable"] as const)
    for (const [name, value] of Object.entries((status?.[list] ?? {}) as Amounts))
      validateAmount(name, value, `status.${list}.${name}`, errors);
  return errors;
}

/** Of updates; upstream does not look at the addresses that a node is created with. */
export function validateNodeStatus(node: Node): FieldErrors {
  const errors = validateNodeAmounts(node);
  const seen = new Set<string>();
  (node.status?.addresses ?? []).forEach(({ type, address }, index) => {
    const id = JSON.stringify([type, address]);
    if (seen.has(id)) errors.push(duplicate(`status.addresses[${index}]`, { type, address }));
    seen.add(id);
  });
  return errors;
}
