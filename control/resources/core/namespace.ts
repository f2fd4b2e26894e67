// Namespace: stays, Terminating, until the namespace controller emptied it and took its finalizer away.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid } from "../../machinery/field-error.ts";
import { dnsLabel, qualifiedName } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface NamespaceSpec {
  finalizers?: string[];
}

/** The capital is upstream's. */
function validatePhase({ metadata, status }: KubeObject): FieldErrors {
  const { phase } = (status ?? {}) as { phase?: string };
  const [wanted, state] = metadata.deletionTimestamp === undefined ? ["Active", "empty"] : ["Terminating", "not empty"];
  if (phase === wanted) return [];
  return [invalid("status.Phase", phase ?? "", `may only be '${wanted}' if \`deletionTimestamp\` is ${state}`)];
}

export const namespaces: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "namespaces",
  singular: "namespace",
  kind: "Namespace",
  namespaced: false,
  shortNames: ["ns"],
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  hasStatus: true,
  validateStatus: validatePhase,
  answersDeleted: true,
  validateName: dnsLabel,
  selectable: {
    "status.phase": (object) => (object.status as { phase?: string } | undefined)?.phase ?? "",
    name: (object) => object.metadata.name ?? "",
  },
  columns: [nameColumn, column("Status", "Whether it is in use or going away."), ageColumn],
  cells: (object, now) => [
    object.metadata.name,
    (object.status as { phase?: string } | undefined)?.phase ?? "",
    age(object.metadata.creationTimestamp, now),
  ],
  defaults(object) {
    const { metadata } = object;
    if (metadata.name) metadata.labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
  },
  prepareCreate(object) {
    const spec = (object.spec ?? {}) as NamespaceSpec;
    const others = (spec.finalizers ?? []).filter((finalizer) => finalizer !== "kubernetes");
    object.spec = { finalizers: [...others, "kubernetes"] };
    object.status = { phase: "Active" };
    if (object.metadata.name)
      object.metadata.labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name };
  },
  prepareUpdate(object, previous) {
    object.spec = { finalizers: (previous.spec as NamespaceSpec | undefined)?.finalizers ?? [] };
  },
  validate: (object) =>
    ((object.spec as NamespaceSpec | undefined)?.finalizers ?? []).flatMap((name) =>
      qualifiedName(name).map((problem) => invalid("spec.finalizers", name, problem)),
    ),
  isHeld: (object) => ((object.spec as NamespaceSpec | undefined)?.finalizers?.length ?? 0) > 0,
  prepareDelete(object) {
    object.status = { ...(object.status as object | undefined), phase: "Terminating" };
  },
  parts: {
    finalize: {
      verbs: ["update"],
      prepare(next, previous) {
        const finalizers = (next.spec as NamespaceSpec | undefined)?.finalizers ?? [];
        return { ...previous, metadata: next.metadata, spec: { finalizers } };
      },
    },
  },
};
