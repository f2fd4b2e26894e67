// CustomResourceDefinition: the definition of definitions.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dns1035Label, dnsSubdomain } from "../names.ts";
import { column, nameColumn } from "../print.ts";
import { ruleProblems } from "./rule-problems.ts";
import { cleanupFinalizer, type Crd, hasCondition } from "./types.ts";
import { validateConversion } from "./validate-conversion.ts";
import { validateSchema } from "./validate-schema.ts";
import { validateVersion } from "./validate-version.ts";

const asCrd = (object: KubeObject): Crd => object as Crd;

export const customResourceDefinitions: ResourceDefinition = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  needsResourceVersion: true,
  singular: "customresourcedefinition",
  kind: "CustomResourceDefinition",
  namespaced: false,
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  // So upstream tells it, whose stored form is older than v1.
  storedAs: { group: "apiextensions.k8s.io", version: "v1beta1" },
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
    const { service } = spec.conversion.webhook?.clientConfig ?? {};
    if (service) service.port ??= 443;
  },
  prepareCreate(object) {
    const { spec } = asCrd(object);
    const storage = spec?.versions?.find((version) => version.storage)?.name;
    object.status = {
      conditions: null,
      acceptedNames: { plural: "", kind: "" },
      storedVersions: storage ? [storage] : [],
    };
  },
  // It goes when its objects have gone.
  isHeld: ({ metadata }) => metadata.deletionTimestamp === undefined,
  prepareDelete({ metadata }) {
    metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), cleanupFinalizer])];
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
    errors.push(...validateConversion(crd, previous && asCrd(previous)));
    const stored = crd.status?.storedVersions ?? [];
    if (previous)
      stored.forEach((name, index) => {
        if (!spec.versions?.some((version) => version.name === name))
          errors.push(invalid(`status.storedVersions[${index}]`, name, "must appear in spec.versions"));
      });
    return [...errors, ...validateKept(spec, previous && asCrd(previous))];
  },
  validateLater: (object, previous) => ruleProblems(asCrd(object), previous && asCrd(previous)),
};

/** Where objects are stored follows from these. */
function validateKept(spec: Crd["spec"], before: Crd | undefined): FieldErrors {
  if (!before) return [];
  const isEstablished = hasCondition(before, "Established");
  const kept = [
    ["group", spec.group, before.spec.group, true],
    ["names.plural", spec.names?.plural, before.spec.names.plural, true],
    ["scope", spec.scope, before.spec.scope, isEstablished],
    ["names.kind", spec.names?.kind, before.spec.names.kind, isEstablished],
  ] as const;
  return kept
    .filter(([, now, then, isKept]) => isKept && now !== then)
    .map(([field, now]) => invalid(`spec.${field}`, now, "field is immutable"));
}

function validateNames({ spec, metadata }: Crd): FieldErrors {
  const errors: FieldErrors = [];
  if (!spec.group) errors.push(required("spec.group"));
  else for (const problem of dnsSubdomain(spec.group)) errors.push(invalid("spec.group", spec.group, problem));
  if (spec.group && spec.group.split(".").length < 2)
    errors.push(invalid("spec.group", spec.group, "should be a domain with at least one dot"));
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = spec.names ?? {};
  for (const [name, value] of Object.entries({ plural, singular, kind, listKind })) {
    const mixed = name === "kind" || name === "listKind";
    const problems = dns1035Label(mixed ? (value ?? "").toLowerCase() : (value ?? ""));
    if (!value) errors.push(required(`spec.names.${name}`));
    else if (problems.length > 0) {
      const prefix = mixed ? "may have mixed case, but should otherwise match: " : "";
      errors.push(invalid(`spec.names.${name}`, value, `${prefix}${problems.join(",")}`));
    }
  }
  if (kind && kind === listKind)
    errors.push(invalid("spec.names.listKind", listKind, "kind and listKind may not be the same"));
  for (const [name, list] of Object.entries({ shortNames, categories }))
    list.forEach((value, index) => {
      const problems = dns1035Label(value);
      if (problems.length > 0) errors.push(invalid(`spec.names.${name}[${index}]`, value, problems.join(",")));
    });
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
  // What all versions share is told as if it stood once, above them.
  const isShared = (field: "schema" | "subresources" | "additionalPrinterColumns" | "selectableFields") =>
    versions.every((version) => deepEqual(version[field], versions[0]?.[field]));
  const schemaOnce = isShared("schema") ? "spec.validation" : undefined;
  versions.forEach((version, index) => {
    const at = `spec.versions[${index}]`;
    for (const problem of dns1035Label(version.name ?? ""))
      errors.push(invalid(`${at}.name`, version.name ?? "", problem));
    if (names.has(version.name))
      errors.push(invalid("spec.versions", version.name, "must contain unique version names"));
    names.add(version.name);
    const schema = version.schema?.openAPIV3Schema;
    if (!schema) errors.push(required(`${at}.schema.openAPIV3Schema`, "schemas are required"));
    else if (!schemaOnce || index === 0)
      validateSchema(schema, `${schemaOnce ?? `${at}.schema`}.openAPIV3Schema`, errors);
    validateVersion(version, at, errors, isShared("subresources") ? "spec" : at);
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
