// Validation of what a claim got, and of how far its growth is.

import type { PersistentVolumeClaim } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, invalid, notSupported } from "../../machinery/field-error.ts";
import { qualifiedName } from "../names.ts";
import { type Amounts, validateAmount } from "../resource-names.ts";

const resizeStatuses = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizePending",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
];

export function validateClaimStatus({ status }: PersistentVolumeClaim): FieldErrors {
  const errors: FieldErrors = [];
  for (const [name, value] of Object.entries((status?.capacity ?? {}) as Amounts))
    validateSize(value, `status.capacity[${name}]`, errors);
  // The field's name lacks its end in upstream's words.
  const field = "status.allocatedResourceStatus";
  for (const [name, value] of Object.entries(status?.allocatedResourceStatuses ?? {})) {
    errors.push(...validateResource(name, field));
    if (!resizeStatuses.includes(value)) errors.push(notSupported(field, name, resizeStatuses));
  }
  for (const [name, value] of Object.entries((status?.allocatedResources ?? {}) as Amounts)) {
    const problems = validateResource(name, "status.allocatedResources");
    errors.push(...problems);
    if (problems.length === 0) validateSize(value, `status.allocatedResources[${name}]`, errors);
  }
  return errors;
}

/** Claims have storage, and what drivers name in words of their own. */
function validateResource(name: string, field: string): FieldErrors {
  const problems = qualifiedName(name);
  if (problems.length > 0) return problems.map((problem) => invalid(field, name, problem));
  const isNative = !name.includes("/") || name.includes("kubernetes.io/");
  return isNative && name !== "storage" ? [notSupported(field, name, ["storage"])] : [];
}

function validateSize(value: string | number, field: string, errors: FieldErrors): void {
  const problems: FieldErrors = [];
  const size = validateAmount("storage", value, field, problems);
  if (size && size.nano < 0n) errors.push(invalid(field, String(value), "must be a valid resource quantity"));
  else errors.push(...problems);
}
