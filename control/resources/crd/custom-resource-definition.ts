// CustomResourceDefinition: the definition of definitions.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, notSupported, required } from "../field-error.ts";
import { dns1035Label, dnsSubdomain } from "../names.ts";
import { column, nameColumn } from "../print.ts";
import { compilePattern } from "./formats.ts";
import { ruleProblems } from "./rules.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { cleanupFinalizer, type Crd } from "./types.ts";

const asCrd = (object: KubeObject): Crd => object as Crd;
const deepestSchema = 60;

export const customResourceDefinitions: ResourceDefinition = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  singular: "customresourcedefinition",
  kind: "CustomResourceDefinition",
  namespaced: false,
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  hasStatus: true,
  hasGeneration: true,
  columns: [nameColumn, column("Created At", "When it was created.", "date")],
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
  defaults(object) {
    const { spec } = asCrd(object);
    if (!spec?.names) return;
    if (!spec.names.singular) spec.names.singular = (spec.names.kind ?? "").toLowerCase();
    if (!spec.names.listKind) spec.names.listKind = `${spec.names.kind ?? ""}List`;
    spec.conversion ??= { strategy: "None" };
    spec.conversion.strategy ??= "None";
  },
  prepareCreate(object) {
    const { metadata, spec } = asCrd(object);
    metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), cleanupFinalizer])];
    const storage = spec?.versions?.find((version) => version.storage)?.name;
    object.status = {
      conditions: [],
      acceptedNames: { plural: "", kind: "" },
      storedVersions: storage ? [storage] : [],
    };
  },
  validate(object, previous) {
    const crd = asCrd(object);
    const { spec } = crd;
    if (!spec) return [required("spec")];
    const errors: FieldErrors = validateNames(crd);
    if (spec.scope !== "Namespaced" && spec.scope !== "Cluster")
      errors.push(notSupported("spec.scope", spec.scope ?? "", ["Cluster", "Namespaced"]));
    errors.push(...validateVersions(crd));
    if (spec.preserveUnknownFields === true)
      errors.push(invalid("spec.preserveUnknownFields", true, "must be false in order to use defaults in the schema"));
    if (spec.conversion?.strategy !== "None")
      errors.push(notSupported("spec.conversion.strategy", spec.conversion?.strategy ?? "", ["None"]));
    const before = previous && asCrd(previous);
    if (before && before.spec.scope !== spec.scope)
      errors.push(invalid("spec.scope", spec.scope, "field is immutable"));
    if (before && before.spec.group !== spec.group)
      errors.push(invalid("spec.group", spec.group, "field is immutable"));
    return errors;
  },
  validateLater: (object) => ruleProblems(asCrd(object).spec.versions),
};

function validateNames({ spec, metadata }: Crd): FieldErrors {
  const errors: FieldErrors = [];
  if (!spec.group) errors.push(required("spec.group"));
  else for (const problem of dnsSubdomain(spec.group)) errors.push(invalid("spec.group", spec.group, problem));
  if (spec.group && spec.group.split(".").length < 2)
    errors.push(invalid("spec.group", spec.group, "should be a domain with at least one dot"));
  if (!spec.names?.plural) errors.push(required("spec.names.plural"));
  else
    for (const problem of dns1035Label(spec.names.plural))
      errors.push(invalid("spec.names.plural", spec.names.plural, problem));
  if (!spec.names?.kind) errors.push(required("spec.names.kind"));
  const wanted = `${spec.names?.plural ?? ""}.${spec.group ?? ""}`;
  if (metadata.name !== wanted)
    errors.push(invalid("metadata.name", metadata.name, `must be spec.names.plural+"."+spec.group`));
  return errors;
}

function validateVersions({ spec }: Crd): FieldErrors {
  const errors: FieldErrors = [];
  const versions = spec.versions ?? [];
  const names = new Set<string>();
  if (versions.length === 0) errors.push(required("spec.versions", "must have at least one version"));
  versions.forEach((version, index) => {
    const at = `spec.versions[${index}]`;
    for (const problem of dns1035Label(version.name ?? ""))
      errors.push(invalid(`${at}.name`, version.name ?? "", problem));
    if (names.has(version.name))
      errors.push(invalid("spec.versions", version.name, "must contain unique version names"));
    names.add(version.name);
    const schema = version.schema?.openAPIV3Schema;
    if (!schema) errors.push(required(`${at}.schema.openAPIV3Schema`, "schemas are required"));
    else {
      if (schema.type !== "object")
        errors.push(invalid(`${at}.schema.openAPIV3Schema.type`, schema.type ?? "", "must be object at the root"));
      validateSchema(schema, `${at}.schema.openAPIV3Schema`, 0, errors);
    }
  });
  if (versions.length > 0 && versions.filter((version) => version.storage).length !== 1)
    errors.push(
      invalid(
        "spec.versions",
        versions.map((version) => version.name),
        "must have exactly one version marked as storage version",
      ),
    );
  return errors;
}

/** Structural: every value has a type, so that it is known what may be dropped and owned. */
function validateSchema(schema: StructuralSchema, at: string, depth: number, errors: FieldErrors): void {
  if (depth > deepestSchema) {
    errors.push(invalid(at, "", `schemas may not be nested deeper than ${deepestSchema} levels`));
    return;
  }
  const isFree =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (!schema.type && !isFree) errors.push(required(`${at}.type`, "must not be empty for specified object fields"));
  if (schema.pattern !== undefined && !compilePattern(schema.pattern))
    errors.push(invalid(`${at}.pattern`, schema.pattern, "must be a valid regular expression"));
  if (schema.type === "array" && !schema.items) errors.push(required(`${at}.items`, "must be specified"));
  if (schema.properties && schema.additionalProperties)
    errors.push(invalid(`${at}.additionalProperties`, "", "additionalProperties and properties are mutual exclusive"));
  if (schema["x-kubernetes-list-type"] === "map" && (schema["x-kubernetes-list-map-keys"]?.length ?? 0) === 0)
    errors.push(required(`${at}.x-kubernetes-list-map-keys`, "must not be empty if x-kubernetes-list-type is map"));
  for (const [name, below] of Object.entries(schema.properties ?? {}))
    validateSchema(below, `${at}.properties[${name}]`, depth + 1, errors);
  if (schema.items) validateSchema(schema.items, `${at}.items`, depth + 1, errors);
  if (typeof schema.additionalProperties === "object")
    validateSchema(schema.additionalProperties, `${at}.additionalProperties`, depth + 1, errors);
}
