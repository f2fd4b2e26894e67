// ResourceQuota and LimitRange.

import { randomUUID } from "node:crypto";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { invalid } from "../../machinery/field-error.ts";
import type { Amounts } from "../resource-names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type LimitItem, validateLimits } from "./validate-limits.ts";
import { type QuotaSpec, validateQuota, validateQuotaStatus } from "./validate-quota.ts";

interface QuotaObject extends KubeObject {
  spec?: QuotaSpec;
  status?: { hard?: Amounts; used?: Amounts };
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
  validateStatus: (object) => validateQuotaStatus((object as QuotaObject).status ?? {}),
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
    const errors = validateQuota(spec ?? {});
    const before = (previous as QuotaObject | undefined)?.spec;
    if (before && !deepEqual([...(before.scopes ?? [])].sort(), [...(spec?.scopes ?? [])].sort()))
      errors.push(invalid("spec.scopes", spec?.scopes ?? null, "field is immutable"));
    return errors;
  },
};

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
  columns: [nameColumn, column("Created At", "When it was created.", "date")],
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
  defaults(object) {
    // So upstream names them, who were given no name.
    if (!object.metadata.name && !object.metadata.generateName) object.metadata.name = randomUUID();
    for (const item of limitsOf(object)) {
      if (item.type !== "Container") continue;
      item.default = { ...item.max, ...item.default };
      item.defaultRequest = { ...item.min, ...item.default, ...item.defaultRequest };
      for (const field of ["default", "defaultRequest"] as const)
        if (Object.keys(item[field] ?? {}).length === 0) delete item[field];
    }
  },
  validate: (object) => validateLimits(limitsOf(object), "spec.limits"),
};
