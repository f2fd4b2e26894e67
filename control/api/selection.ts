// Which objects of a resource a list, watch or deletecollection speaks of.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldSelector,
  parseLabelSelector,
} from "../../plugins/kit/kube/selector.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { labelValue, qualifiedName } from "../resources/names.ts";
import type { Entry } from "../storage/entry.ts";
import { objectOf, type Scope } from "./scope.ts";
import { badRequest } from "../machinery/status.ts";

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
  const byField = fieldRules(fields?.requirements ?? []);
  const names = byField.get("metadata.name");
  const namespaces = byField.get("metadata.namespace");
  byField.delete("metadata.name");
  byField.delete("metadata.namespace");
  const needles = needlesOf(labels?.requirements ?? [], byField);
  const matches = (entry: Entry): boolean => {
    if (names && !allows(names, entry.name)) return false;
    if (namespaces && !allows(namespaces, entry.namespace)) return false;
    if (!labels && byField.size === 0) return true;
    // Reading an object costs much more than seeing that what is asked for stands nowhere in it.
    if (!entry.hasObject && needles.some((needle) => !entry.value.includes(needle))) return false;
    const object = definition.fromStored ? objectOf(definition, entry) : entry.object;
    if (labels && !labels.matches(object.metadata.labels)) return false;
    for (const [field, rule] of byField) if (!allows(rule, fieldOf(definition, object, field))) return false;
    return true;
  };
  return { matches, name };
}

/** What all requirements on one field come to, however many they are. */
interface FieldRule {
  /** One value at most can be asked for; with two nothing is selected. */
  readonly equal: Set<string>;
  readonly unequal: Set<string>;
}

function fieldRules(requirements: readonly FieldRequirement[]): Map<string, FieldRule> {
  const byField = new Map<string, FieldRule>();
  for (const { field, op, value } of requirements) {
    const rule = byField.get(field) ?? { equal: new Set(), unequal: new Set() };
    byField.set(field, rule);
    (op === "=" ? rule.equal : rule.unequal).add(value);
  }
  return byField;
}

function allows({ equal, unequal }: FieldRule, value: string): boolean {
  if (unequal.has(value)) return false;
  return equal.size === 0 || (equal.size === 1 && equal.has(value));
}

const mostNeedles = 4;

/** Texts that stand in every object that is selected: some are enough to tell most others. */
function needlesOf(labels: readonly LabelRequirement[], byField: ReadonlyMap<string, FieldRule>): Buffer[] {
  const texts = new Set<string>();
  for (const { key, operator, values } of labels)
    if (operator === "=" && texts.size < mostNeedles)
      texts.add(`${JSON.stringify(key)}:${JSON.stringify(values[0] ?? "")}`);
  for (const { equal } of byField.values())
    for (const value of equal) if (isText(value) && texts.size < mostNeedles) texts.add(JSON.stringify(value));
  return [...texts].map((text) => Buffer.from(text));
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
