// What was already wrong before a schema became stricter may stay as long as it is not touched: an update is not refused for
// a value, or for anything below a value, that it leaves as it was.

import { deepEqual } from "../../machinery/equal.ts";
import type { FieldError, FieldErrors } from "../../machinery/field-error.ts";
import { isObject } from "./structural-schema.ts";

/** The errors that the update itself is to blame for. */
export function ratchet(errors: FieldErrors, next: unknown, previous: unknown): FieldErrors {
  return errors.filter((error) => !isUntouched(stepsTo(error), next, previous));
}

/** A missing field is a fault of the object that misses it. */
function stepsTo({ field, type }: FieldError): string[] {
  const steps = field.split(/[.[\]]+/).filter((step) => step !== "");
  return type === "FieldValueRequired" ? steps.slice(0, -1) : steps;
}

/** Items of a list have no identity across an update, so a list that changed is touched as a whole. */
function isUntouched(steps: readonly string[], next: unknown, previous: unknown): boolean {
  let now = next;
  let before = previous;
  for (const step of steps) {
    if (!isObject(now) || !isObject(before) || !Object.hasOwn(now, step) || !Object.hasOwn(before, step)) return false;
    now = now[step];
    before = before[step];
    if (deepEqual(now, before)) return true;
  }
  return false;
}
