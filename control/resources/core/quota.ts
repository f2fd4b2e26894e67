// ResourceQuota and LimitRange.

import { isFault } from "../../../plugins/kit/fault.ts";
import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import { compareQuantity, parseQuantity, type Quantity } from "../../../plugins/kit/quantity.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../equal.ts";
import { duplicate, type FieldErrors, invalid } from "../field-error.ts";
import { qualifiedName } from "../names.ts";
import { type Amounts, validateAmount, validateResourceName } from "../resource-names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface QuotaObject extends KubeObject {
  spec?: { hard?: Amounts; scopes?: string[]; scopeSelector?: unknown };
  status?: { hard?: Amounts; used?: Amounts };
}

function validateAmounts(amounts: Amounts | undefined, field: string): FieldErrors {
  const errors: FieldErrors = [];
  for (const [name, value] of Object.entries(amounts ?? {})) {
    const at = `${field}[${name}]`;
    errors.push(...validateResourceName(name, at));
    validateAmount(name, value, at, errors);
  }
  return errors;
}

function quantityOf(value: string | number | undefined): Quantity | undefined {
  if (value === undefined) return undefined;
  try {
    return parseQuantity(value);
  } catch (error) {
    if (isFault(error)) return undefined;
    throw error;
  }
}

export const resourceQuotas: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "resourcequotas",
  singular: "resourcequota",
  kind: "ResourceQuota",
  namespaced: true,
  shortNames: ["quota"],
  hasStatus: true,
  answersDeleted: true,
  columns: [
    nameColumn,
    ageColumn,
    column("Request", "Requests and counts: used of allowed."),
    column("Limit", "Limits: used of allowed."),
  ],
  cells(object, now) {
    const { status } = object as QuotaObject;
    const names = Object.keys(status?.hard ?? {}).sort();
    const text = (of: string[]) =>
      of.map((name) => `${name}: ${String(status?.used?.[name] ?? 0)}/${String(status?.hard?.[name] ?? 0)}`).join(", ");
    return [
      object.metadata.name,
      age(object.metadata.creationTimestamp, now),
      text(names.filter((name) => !name.startsWith("limits"))),
      text(names.filter((name) => name.startsWith("limits"))),
    ];
  },
  defaults(object) {
    object.spec ??= {};
  },
  prepareCreate(object) {
    object.status = {};
  },
  validate(object, previous) {
    const { spec } = object as QuotaObject;
    const errors = validateAmounts(spec?.hard, "spec.hard");
    const before = (previous as QuotaObject | undefined)?.spec;
    if (before && !deepEqual([...(before.scopes ?? [])].sort(), [...(spec?.scopes ?? [])].sort()))
      errors.push(invalid("spec.scopes", spec?.scopes ?? null, "field is immutable"));
    return errors;
  },
};

interface LimitItem {
  type?: string;
  max?: Amounts;
  min?: Amounts;
  default?: Amounts;
  defaultRequest?: Amounts;
  maxLimitRequestRatio?: Amounts;
}

const limitsOf = (object: KubeObject) =>
  ((object.spec as { limits?: LimitItem[] } | undefined)?.limits ?? []) as LimitItem[];

export const limitRanges: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "limitranges",
  singular: "limitrange",
  kind: "LimitRange",
  namespaced: true,
  shortNames: ["limits"],
  createsOnUpdate: true,
  columns: [nameColumn, column("Created At", "When it was created.")],
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
  defaults(object) {
    for (const item of limitsOf(object)) {
      if (item.type !== "Container") continue;
      item.default = { ...item.max, ...item.default };
      item.defaultRequest = { ...item.min, ...item.default, ...item.defaultRequest };
      for (const field of ["default", "defaultRequest"] as const)
        if (Object.keys(item[field] ?? {}).length === 0) delete item[field];
    }
  },
  validate(object) {
    const errors: FieldErrors = [];
    const types = new Set<string>();
    limitsOf(object).forEach((item, index) => {
      const at = `spec.limits[${index}]`;
      for (const problem of qualifiedName(item.type ?? ""))
        errors.push(invalid(`${at}.type`, item.type ?? "", problem));
      if (types.has(item.type ?? "")) errors.push(duplicate(`${at}.type`, item.type));
      types.add(item.type ?? "");
      for (const field of ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const)
        errors.push(...validateAmounts(item[field], `${at}.${field}`));
      for (const name of Object.keys(item.min ?? {})) {
        const [low, high] = [quantityOf(item.min?.[name]), quantityOf(item.max?.[name])];
        if (low && high && compareQuantity(low, high) > 0)
          errors.push(
            invalid(
              `${at}.min[${name}]`,
              String(item.min?.[name]),
              `min value ${String(item.min?.[name])} is greater than max value ${String(item.max?.[name])}`,
            ),
          );
      }
    });
    return errors;
  },
};
