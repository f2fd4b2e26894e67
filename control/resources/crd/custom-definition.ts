// Makes the ResourceDefinition of one version of a CustomResourceDefinition.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { Column, ResourceDefinition, ScalePaths } from "../definition.ts";
import type { FieldErrors } from "../../machinery/field-error.ts";
import { age, nameColumn } from "../print.ts";
import { compareVersions } from "../version-order.ts";
import { type Convert, conversionOf, fill, renamed } from "./conversion.ts";
import { shapeOfCustom } from "./custom-shape.ts";
import { validateEmbedded } from "./embedded.ts";
import { parseJsonPath, readJsonPath } from "./json-path.ts";
import { prune } from "./prune.ts";
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

/** `rules` are the version's compiled CEL rules, when it has any; `convert` makes its objects of those of other versions. */
export function customDefinition(
  crd: Crd,
  version: CrdVersion,
  rules?: SchemaRules,
  convert: Convert = renamed,
): ResourceDefinition {
  const { group, names, scope } = crd.spec;
  const schema: StructuralSchema = version.schema?.openAPIV3Schema ?? {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const isTerminating = crd.metadata.deletionTimestamp !== undefined || hasCondition(crd, "Terminating");
  const columns = version.additionalPrinterColumns?.length ? version.additionalPrinterColumns : [ageColumnDefinition];
  const ruleWarnings = new WeakMap<KubeObject, readonly string[]>();
  const check = (object: KubeObject, previous?: KubeObject): FieldErrors => {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...fields } = object;
    const all = [
      ...validateNames(metadata, schema),
      ...validateBySchema(fields, withoutObjectFields(schema)),
      ...validateEmbedded(fields, schema),
    ];
    const errors = previous ? ratchet(all, object, previous) : all;
    if (errors.length > 0 || !rules) return errors;
    const found = rules.check(schema, object, previous);
    ruleWarnings.set(object, found.warnings);
    return found.errors;
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
    needsResourceVersion: true,
    hasGeneration: true,
    hasStatus: version.subresources?.status !== undefined,
    statusOnly: true,
    ...scaleOf(version),
    conversion: conversionOf(crd, version, convert),
    storedAs: { group, version: crd.spec.versions.find((one) => one.storage)?.name ?? version.name },
    holdToSchema: (object) => prune(object, schema),
    shape: () => shapeOfCustom(schema),
    defaults: (object) => fill(object, schema),
    validate: check,
    validateStatus: check,
    ...(version.deprecated ? { deprecation: version.deprecationWarning ?? deprecationOf(crd, version.name) } : {}),
    warnings: (object) => [...(ruleWarnings.get(object) ?? [])],
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

/** Names the best version to use instead, where there is a better one. */
function deprecationOf({ spec: { group, names, versions } }: Crd, deprecated: string): string {
  const [better] = versions
    .filter(({ name, served, deprecated: isOld }) => served && !isOld && compareVersions(name, deprecated) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const instead = better === undefined ? "" : `; use ${group}/${better} ${names.kind}`;
  return `${group}/${deprecated} ${names.kind} is deprecated${instead}`;
}

/** Of metadata a schema may say what names are taken. */
function validateNames({ name, generateName }: KubeObject["metadata"], schema: StructuralSchema): FieldErrors {
  const names = schema.properties?.["metadata"]?.properties ?? {};
  return Object.entries({ generateName, name }).flatMap(([field, value]) => {
    const below = names[field];
    return below && value !== undefined ? validateBySchema(value, below, `metadata.${field}`) : [];
  });
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
