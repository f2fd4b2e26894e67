// Values that are a number or a percentage.

import { type FieldErrors, invalid } from "../machinery/field-error.ts";

export function validateIntOrPercent(value: number | string | undefined | null, field: string): FieldErrors {
  if (value === undefined || value === null) return [];
  if (typeof value === "number") return value >= 0 ? [] : [invalid(field, value, "must be greater than or equal to 0")];
  if (!/^\d+%$/.test(value))
    return [
      invalid(
        field,
        value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', or '93%', regex used for validation is '[0-9]+%')",
      ),
    ];
  return [];
}

export function validateNotAboveAll(value: number | string | undefined | null, field: string): FieldErrors {
  const isAbove = typeof value === "string" && /^\d+%$/.test(value) && Number.parseInt(value, 10) > 100;
  return isAbove ? [invalid(field, value, "must not be greater than 100%")] : [];
}

export function isZero(value: number | string | undefined | null): boolean {
  return typeof value === "string" ? /^0+%$/.test(value) : (value ?? 0) === 0;
}
