// Makes the ResourceDefinition of one version of a CustomResourceDefinition.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { Column, ResourceDefinition, ScalePaths } from "../definition.ts";
import type { FieldErrors } from "../field-error.ts";
import { age, nameColumn } from "../print.ts";
import { shapeOfSchema } from "./custom-shape.ts";
import { parseJsonPath, readJsonPath } from "./json-path.ts";
import { applyDefaults, prune } from "./prune.ts";
import { ratchet } from "./ratchet.ts";
import type { SchemaRules } from "./rules.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { type Crd, type CrdVersion, hasCondition, type PrinterColumn } from "./types.ts";
import { validateBySchema } from "./validate.ts";

const ageColumnDefinition: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "How long ago the object was created.",
};

/** `rules` are the version's compiled CEL rules, when it has any. */
export function customDefinition(crd: Crd, version: CrdVersion, rules: SchemaRules | undefined): ResourceDefinition {
  const { group, names, scope } = crd.spec;
  const schema: StructuralSchema = version.schema?.openAPIV3Schema ?? {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const isTerminating = crd.metadata.deletionTimestamp !== undefined || hasCondition(crd, "Terminating");
  const columns = version.additionalPrinterColumns?.length ? version.additionalPrinterColumns : [ageColumnDefinition];
  const check = (object: KubeObject, previous?: KubeObject): FieldErrors => {
    const { kind: _kind, apiVersion: _apiVersion, metadata: _metadata, ...fields } = object;
    const all = validateBySchema(fields, withoutObjectFields(schema));
    const errors = previous ? ratchet(all, object, previous) : all;
    return errors.length > 0 || !rules ? errors : rules.check(schema, object, previous);
  };
  return {
    group,
    version: version.name,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    kind: names.kind,
    ...(names.listKind ? { listKind: names.listKind } : {}),
    namespaced: scope === "Namespaced",
    ...(names.shortNames ? { shortNames: names.shortNames } : {}),
    ...(names.categories ? { categories: names.categories } : {}),
    ...(isTerminating
      ? { verbs: ["delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const }
      : {}),
    isCustom: true,
    hasGeneration: true,
    hasStatus: version.subresources?.status !== undefined,
    statusOnly: true,
    ...scaleOf(version),
    ...conversionOf(crd, version),
    holdToSchema: (object) => ({ unknown: prune(object, schema), problem: undefined }),
    shape: () => shapeOfSchema(schema),
    defaults: (object) => applyDefaults(object, { ...schema, properties: omitMetadata(schema.properties) }),
    validate: check,
    validateStatus: check,
    ...(version.deprecated
      ? { warnings: () => [version.deprecationWarning ?? `${group}/${version.name} ${names.kind} is deprecated`] }
      : {}),
    columns: [nameColumn, ...columns.map(columnOf)],
    cells: cellsWith(columns),
    selectable: Object.fromEntries(
      (version.selectableFields ?? []).flatMap(({ jsonPath }) => {
        const steps = parseJsonPath(jsonPath);
        return steps
          ? [[jsonPath.replace(/^\./, ""), (object: KubeObject) => textOf(readJsonPath(object, steps)[0])]]
          : [];
      }),
    ),
  };
}

function omitMetadata(properties: StructuralSchema["properties"]): Record<string, StructuralSchema> {
  const { metadata: _metadata, ...rest } = properties ?? {};
  return rest;
}

function withoutObjectFields(schema: StructuralSchema): StructuralSchema {
  const required = schema.required?.filter((name) => !["metadata", "kind", "apiVersion"].includes(name));
  return { ...schema, ...(required ? { required } : {}) };
}

function scaleOf(version: CrdVersion): { scale?: ScalePaths } {
  const scale = version.subresources?.scale;
  if (!scale) return {};
  return {
    scale: {
      specReplicas: scale.specReplicasPath,
      statusReplicas: scale.statusReplicasPath,
      ...(scale.labelSelectorPath ? { selector: { path: scale.labelSelectorPath, as: "text" as const } } : {}),
    },
  };
}

/** Versions differ in name only: an object is stored in one and shown in each. */
function conversionOf(crd: Crd, version: CrdVersion): Pick<ResourceDefinition, "toStored" | "fromStored"> {
  const stored = crd.spec.versions.find((one) => one.storage)?.name ?? version.name;
  const past = crd.status?.storedVersions ?? [];
  if (crd.spec.versions.length === 1 && past.every((name) => name === version.name)) return {};
  const as = (name: string) => (object: KubeObject) => ({ ...object, apiVersion: `${crd.spec.group}/${name}` });
  return { toStored: as(stored), fromStored: as(version.name) };
}

function columnOf({ name, type, description, format, priority }: PrinterColumn): Column {
  return {
    name,
    // Ages are shown as the time since, which is text.
    type: type === "date" ? "date" : (type as Column["type"]),
    description: description ?? `Custom resource definition column (in JSONPath format): ${name}`,
    ...(format ? { format } : {}),
    ...(priority ? { priority } : {}),
  };
}

function cellsWith(columns: readonly PrinterColumn[]): (object: KubeObject, now: number) => unknown[] {
  const readers = columns.map(({ jsonPath, type }) => ({ steps: parseJsonPath(jsonPath), type }));
  return (object, now) => [
    object.metadata.name,
    ...readers.map(({ steps, type }) => {
      const found = steps ? readJsonPath(object, steps) : [];
      if (found.length === 0) return null;
      if (type === "date") return age(String(found[0]), now);
      if (type === "integer" || type === "number" || type === "boolean") return found[0];
      return found.map(textOf).join(",");
    }),
  ];
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value as string | number | boolean);
}
