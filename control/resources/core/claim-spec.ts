// The specification of a PersistentVolumeClaim, which also stands in StatefulSets and ephemeral volumes.

import { isFault } from "../../../plugins/kit/fault.ts";
import { parseQuantity } from "../../../plugins/kit/quantity.ts";
import { type FieldErrors, invalid, notSupported, required, tooLong } from "../field-error.ts";
import { dnsSubdomain } from "../names.ts";

const accessModes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

export function defaultClaimSpec(spec: Record<string, unknown>): void {
  spec.volumeMode ??= "Filesystem";
  // The two ways to name a source say the same.
  if (spec.dataSource && !spec.dataSourceRef) spec.dataSourceRef = spec.dataSource;
}

export function validateClaimSpec(spec: Record<string, unknown>, field: string): FieldErrors {
  const errors: FieldErrors = [];
  errors.push(...validateAccessModes(spec.accessModes as string[] | undefined, `${field}.accessModes`));
  const requests = (spec.resources as { requests?: Record<string, unknown> } | undefined)?.requests;
  if (requests?.storage === undefined) errors.push(required(`${field}.resources[storage]`));
  else errors.push(...validatePositive(requests.storage, `${field}.resources[storage]`));
  return errors;
}

export function validateAccessModes(modes: string[] | undefined, field: string): FieldErrors {
  if (!modes || modes.length === 0) return [required(field, "at least 1 access mode is required")];
  const errors = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(field, mode, accessModes));
  if (modes.length > 1 && modes.includes("ReadWriteOncePod"))
    errors.push({
      type: "FieldValueForbidden",
      field,
      message: "Forbidden: may not use ReadWriteOncePod with other access modes",
    });
  return errors;
}

export function validatePositive(value: unknown, field: string): FieldErrors {
  try {
    if (parseQuantity(value as string | number).nano > 0n) return [];
    return [invalid(field, value, "must be greater than zero")];
  } catch (error) {
    if (!isFault(error)) throw error;
    return [
      invalid(
        field,
        value,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      ),
    ];
  }
}

/** Names of CSI drivers, wherever they stand. */
export function validateDriverName(name: string | undefined, field: string): FieldErrors {
  if (!name) return [required(field)];
  const errors = dnsSubdomain(name.toLowerCase()).map((problem) => invalid(field, name, problem));
  return name.length > 63 ? [tooLong(field, 63), ...errors] : errors;
}
