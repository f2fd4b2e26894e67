// Which objects of a resource a list, watch or deletecollection speaks of.

import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { isFault } from "../../plugins/kit/fault.ts";
import { type LabelRequirement, parseFieldSelector, parseLabelSelector } from "../../plugins/kit/selector.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { labelValue, qualifiedName } from "../resources/names.ts";
import type { Entry } from "../storage/entry.ts";
import { objectOf, type Scope } from "./scope.ts";
import { badRequest } from "./status.ts";

export interface Selection {
  /** Undefined matches everything. */
  readonly matches: ((entry: Entry) => boolean) | undefined;
  /** Set when the selectors allow at most one object: its name. */
  readonly name: string | undefined;
}

export function selectionOf(scope: Scope): Selection {
  const { query } = scope.request;
  const labelText = query.get("labelSelector") ?? "";
  const fieldText = query.get("fieldSelector") ?? "";
  if (labelText === "" && fieldText === "") return { matches: undefined, name: undefined };
  const { definition } = scope;
  const labels = labelText === "" ? undefined : parse(() => parseLabelSelector(labelText, checkRequirement));
  const fields = fieldText === "" ? undefined : parse(() => parseFieldSelector(fieldText));
  for (const { field } of fields?.requirements ?? [])
    if (!isSelectable(definition, field)) throw badRequest(unknownField(definition, field));
  const name = fields?.requirements.find(({ field, op }) => field === "metadata.name" && op === "=")?.value;
  const others =
    fields?.requirements.filter(({ field }) => field !== "metadata.name" && field !== "metadata.namespace") ?? [];
  const needles = [
    ...(labels?.requirements ?? [])
      .filter(({ operator, values }) => operator === "=" && values.length === 1)
      .map(({ key, values }) => `${JSON.stringify(key)}:${JSON.stringify(values[0])}`),
    ...others.filter(({ op, value }) => op === "=" && isText(value)).map(({ value }) => JSON.stringify(value)),
  ].map((text) => Buffer.from(text));
  const matches = (entry: Entry): boolean => {
    for (const { field, op, value } of fields?.requirements ?? []) {
      if (field === "metadata.name" && (entry.name === value) !== (op === "=")) return false;
      if (field === "metadata.namespace" && (entry.namespace === value) !== (op === "=")) return false;
    }
    if (!labels && others.length === 0) return true;
    // Reading an object costs much more than seeing that what is asked for stands nowhere in it.
    if (!entry.hasObject && needles.some((needle) => !entry.value.includes(needle))) return false;
    const object = definition.fromStored ? objectOf(definition, entry) : entry.object;
    if (labels && !labels.matches(object.metadata.labels)) return false;
    return others.every(({ field, op, value }) => (fieldOf(definition, object, field) === value) === (op === "="));
  };
  return { matches, name };
}

/** Names what is wrong with a requirement by the place it has in one, whichever of them it is. */
function checkRequirement(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  const isOrder = operator === "gt" || operator === "lt";
  const errors = [
    ...about("<nil>", key, qualifiedName(key)),
    ...values.flatMap((value, at) =>
      about(`values[${at}]`, value, isOrder && !/^[-+]?\d{1,19}$/.test(value) ? [notInteger] : []),
    ),
    ...values.flatMap((value, at) => about(`values[${at}][${key}]`, value, labelValue(value))),
  ];
  if (errors.length === 0) return requirement;
  throw badRequest(`unable to parse requirement: ${errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`}`);
}

const notInteger = "for 'Gt', 'Lt' operators, the value must be an integer";

function about(field: string, value: string, problems: readonly string[]): string[] {
  return problems.length === 0 ? [] : [`${field}: Invalid value: ${JSON.stringify(value)}: ${problems.join("; ")}`];
}

/** Numbers and booleans are not written as text in an object, and an empty value may be an absent one. */
function isText(value: string): boolean {
  return value !== "" && !/^(true|false|-?\d+)$/.test(value);
}

function isSelectable(definition: ResourceDefinition, field: string): boolean {
  if (field === "metadata.name") return true;
  if (field === "metadata.namespace") return definition.namespaced;
  return definition.selectable !== undefined && Object.hasOwn(definition.selectable, field);
}

function fieldOf(definition: ResourceDefinition, object: KubeObject, field: string): string {
  return definition.selectable?.[field]?.(object) ?? "";
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isFault(error)) throw badRequest(error.message);
    throw error;
  }
}

/** Kinds of which only names can be selected say so; jobs have words of their own. */
function unknownField({ group, kind, selectable }: ResourceDefinition, field: string): string {
  if (kind === "Job") return `field label ${JSON.stringify(field)} not supported for Job`;
  if (selectable && group !== "apps") return `field label not supported: ${field}`;
  return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}
