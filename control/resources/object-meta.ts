// Validation of what all objects share: their metadata.

import type { KubeObject, ObjectMeta, OwnerReference } from "../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, forbidden, invalid, required, tooLong } from "../machinery/field-error.ts";
import { labelValue, qualifiedName } from "./names.ts";

const annotationBytes = 256 * 1024;

export function validateLabels(labels: unknown, field: string): FieldErrors {
  const errors: FieldErrors = [];
  for (const [key, value] of Object.entries((labels as Record<string, unknown> | undefined) ?? {})) {
    for (const problem of qualifiedName(key)) errors.push(invalid(field, key, problem));
    if (typeof value !== "string") errors.push(invalid(field, value, "must be a string"));
    else for (const problem of labelValue(value)) errors.push(invalid(field, value, problem));
  }
  return errors;
}

export function validateAnnotations(annotations: unknown, field: string): FieldErrors {
  const errors: FieldErrors = [];
  let bytes = 0;
  for (const [key, value] of Object.entries((annotations as Record<string, unknown> | undefined) ?? {})) {
    for (const problem of qualifiedName(key.toLowerCase())) errors.push(invalid(field, key, problem));
    if (typeof value !== "string") errors.push(invalid(field, value, "must be a string"));
    else bytes += key.length + Buffer.byteLength(value);
  }
  if (bytes > annotationBytes) errors.push(tooLong(field, annotationBytes));
  return errors;
}

function validateOwners(owners: readonly OwnerReference[] | undefined, field: string): FieldErrors {
  const errors: FieldErrors = [];
  const controllers = new Set<string>();
  (owners ?? []).forEach((owner, index) => {
    const at = `${field}[${index}]`;
    if (!owner.apiVersion)
      errors.push(invalid(`${at}.apiVersion`, owner.apiVersion ?? "", "version must not be empty"));
    if (!owner.kind) errors.push(invalid(`${at}.kind`, owner.kind ?? "", "kind must not be empty"));
    if (!owner.name) errors.push(invalid(`${at}.name`, owner.name ?? "", "name must not be empty"));
    if (!owner.uid) errors.push(invalid(`${at}.uid`, owner.uid ?? "", "uid must not be empty"));
    if (owner.controller === true)
      controllers.add(JSON.stringify([owner.apiVersion, owner.kind, owner.name, owner.uid]));
  });
  if (controllers.size > 1) errors.push(invalid(field, owners, "Only one reference can have Controller set to true"));
  return errors;
}

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

/** These groups take any name; everywhere else only the standard ones go without a domain. */
const anyFinalizer = [
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "policy",
];

function validateFinalizers(
  finalizers: readonly string[] | undefined,
  field: string,
  { group, isCustom, takesAnyFinalizer }: MetaRules,
): FieldErrors {
  const errors: FieldErrors = [];
  const takesAny = isCustom || takesAnyFinalizer || anyFinalizer.includes(group);
  (finalizers ?? []).forEach((finalizer, index) => {
    for (const problem of qualifiedName(finalizer)) errors.push(invalid(field, finalizer, problem));
    if (!takesAny && !finalizer.includes("/") && !standardFinalizers.includes(finalizer))
      errors.push(
        invalid(`${field}[${index}]`, finalizer, "name is neither a standard finalizer name nor is it fully qualified"),
      );
  });
  if (finalizers?.includes("orphan") && finalizers.includes("foregroundDeletion"))
    errors.push(invalid(field, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"));
  return errors;
}

/** What the checks must know of the kind. */
interface MetaRules {
  readonly group: string;
  readonly namespaced: boolean;
  readonly isCustom?: boolean;
  readonly takesAnyFinalizer?: boolean;
}

/** All of the metadata but the name, whose format depends on the kind. */
export function validateMeta(object: KubeObject, rules: MetaRules, previous?: KubeObject): FieldErrors {
  const meta: ObjectMeta = object.metadata;
  const { namespaced } = rules;
  const errors: FieldErrors = [
    ...validateLabels(meta.labels, "metadata.labels"),
    ...validateAnnotations(meta.annotations, "metadata.annotations"),
    ...validateOwners(meta.ownerReferences, "metadata.ownerReferences"),
    ...validateFinalizers(meta.finalizers, "metadata.finalizers", rules),
  ];
  if ((meta.generation ?? 0) < 0)
    errors.push(invalid("metadata.generation", meta.generation, "must be greater than or equal to 0"));
  if (namespaced && !meta.namespace) errors.push(required("metadata.namespace"));
  if (!namespaced && meta.namespace) errors.push(forbidden("metadata.namespace", "not allowed on this type"));
  if (previous?.metadata.deletionTimestamp !== undefined) {
    const before = new Set(previous.metadata.finalizers ?? []);
    const added = (meta.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0)
      errors.push(
        forbidden(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`,
        ),
      );
  }
  return errors;
}
