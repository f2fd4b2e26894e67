// Validation of label selectors inside objects.

import { type FieldErrors, forbidden, invalid, required } from "../machinery/field-error.ts";
import { labelValue, qualifiedName } from "./names.ts";
import { validateLabels } from "./object-meta.ts";

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export function validateLabelSelector(selector: LabelSelector | undefined | null, field: string): FieldErrors {
  if (!selector) return [];
  const errors = validateLabels(selector.matchLabels, `${field}.matchLabels`);
  (selector.matchExpressions ?? []).forEach(({ key, operator, values }, index) => {
    const at = `${field}.matchExpressions[${index}]`;
    const count = values?.length ?? 0;
    if (operator === "In" || operator === "NotIn") {
      if (count === 0) errors.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (count > 0)
        errors.push(forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else errors.push(invalid(`${at}.operator`, operator, "not a valid selector operator"));
    for (const problem of qualifiedName(key ?? "")) errors.push(invalid(`${at}.key`, key, problem));
    (values ?? []).forEach((value, valueIndex) => {
      for (const problem of labelValue(value)) errors.push(invalid(`${at}.values[${valueIndex}]`, value, problem));
    });
  });
  return errors;
}

export function isEmptySelector(selector: LabelSelector | undefined | null): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions?.length ?? 0) === 0;
}

/** `app=web,tier in (a,b)`, as kubectl shows selectors; `<none>` when empty. */
export function selectorText(selector: LabelSelector | undefined | null): string {
  if (!selector) return "<none>";
  const parts = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const list = `(${[...(values ?? [])].sort().join(",")})`;
    if (operator === "In") parts.push(`${key} in ${list}`);
    else if (operator === "NotIn") parts.push(`${key} notin ${list}`);
    else parts.push(operator === "Exists" ? key : `!${key}`);
  }
  return parts.length === 0 ? "<none>" : parts.sort().join(",");
}
