// Which options of lists, watches and writes do not go together or are not known, told in upstream's words.

import { type FieldErrors, forbidden, invalid, notListed, notSupported } from "../machinery/field-error.ts";
import { invalidObject } from "../machinery/status.ts";

const match = "resourceVersionMatch";
const initial = "sendInitialEvents";

/** Throws what is wrong with them. */
export function checkListOptions(query: URLSearchParams, isWatch: boolean): void {
  const said = (name: string) => query.get(name) ?? "";
  const errors: FieldErrors = isWatch ? watchErrors(query, said) : listErrors(query, said);
  if (errors.length > 0) throw invalidObject({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

type Said = (name: string) => string;

function watchErrors(query: URLSearchParams, said: Said): FieldErrors {
  const errors: FieldErrors = [];
  const hasInitial = query.has(initial) && said(initial) !== "";
  if (said(match) !== "" && !hasInitial)
    errors.push(forbidden(match, `${match} is forbidden for watch unless ${initial} is provided`));
  if (hasInitial && said(match) === "")
    errors.push(forbidden(match, `${initial} requires setting ${match} to NotOlderThan`));
  if (said(match) !== "" && said(match) !== "NotOlderThan")
    errors.push(notSupported(match, said(match), ["NotOlderThan"]));
  if (said("continue") !== "") errors.push(forbidden(match, `${match} is forbidden when continue is provided`));
  return errors;
}

function listErrors(query: URLSearchParams, said: Said): FieldErrors {
  if (query.has(initial) && said(initial) !== "") return [forbidden(initial, `${initial} is forbidden for list`)];
  if (said(match) === "") return [];
  const errors: FieldErrors = [];
  if (said("resourceVersion") === "")
    errors.push(forbidden(match, `${match} is forbidden unless resourceVersion is provided`));
  if (said("continue") !== "") errors.push(forbidden(match, `${match} is forbidden when continue is provided`));
  if (said(match) !== "Exact" && said(match) !== "NotOlderThan")
    errors.push(notListed(match, said(match), ["Exact", "NotOlderThan", ""]));
  if (said(match) === "Exact" && said("resourceVersion") === "0")
    errors.push(forbidden(match, `${match} "exact" is forbidden for resourceVersion "0"`));
  return errors;
}

/** The options of a write that its kind knows by name. */
export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions" | "DeleteOptions";

export const invalidOptions = (kind: OptionsKind, errors: FieldErrors) =>
  invalidObject({ group: "meta.k8s.io", kind }, "", errors);

const longestManager = 128;

export function managerErrors(manager: string): FieldErrors {
  const errors: FieldErrors = [];
  if (manager.length > longestManager)
    errors.push({
      type: "FieldValueTooLong",
      field: "fieldManager",
      message: `Too long: may not be more than ${longestManager} bytes`,
    });
  const odd = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(manager);
  if (odd)
    errors.push(invalid("fieldManager", manager, `invalid character U+${hex(odd[0])} (at position ${odd.index})`));
  return errors;
}

const hex = (letter: string): string => (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");

/** Only apply takes fields from others. */
export function forceErrors(query: URLSearchParams): FieldErrors {
  return query.has("force") ? [forbidden("force", "may not be specified for non-apply patch")] : [];
}
