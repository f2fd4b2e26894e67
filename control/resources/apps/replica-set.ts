// ReplicaSet, and ReplicationController, its older sibling with a plain label map as selector.

import { workloadWarnings } from "../pod-spec/warnings.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { Column, ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, forbidden, invalid, required } from "../../machinery/field-error.ts";
import { type LabelSelector, selectorText } from "../label-selector.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import {
  defaultTemplate,
  type PodTemplate,
  templateCells,
  templateColumns,
  validateTemplate,
  validateWorkload,
} from "../pod-template.ts";
import { age, ageColumn, column, labelsText, nameColumn } from "../print.ts";
import { countRules, validateCounts } from "./validate-counts.ts";

interface ReplicaSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector?: LabelSelector;
  template?: PodTemplate;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as ReplicaSpec;

const columns: readonly Column[] = [
  nameColumn,
  column("Desired", "How many replicas are wanted.", "integer"),
  column("Current", "How many replicas there are.", "integer"),
  column("Ready", "How many replicas are ready.", "integer"),
  ageColumn,
  ...templateColumns,
];

function cells(object: KubeObject, selector: string, now: number): unknown[] {
  const status = (object.status ?? {}) as { replicas?: number; readyReplicas?: number };
  return [
    object.metadata.name,
    specOf(object).replicas ?? 0,
    status.replicas ?? 0,
    status.readyReplicas ?? 0,
    age(object.metadata.creationTimestamp, now),
    ...templateCells(specOf(object).template),
    selector,
  ];
}

function validateNumbers(spec: ReplicaSpec): FieldErrors {
  const errors: FieldErrors = [];
  for (const field of ["replicas", "minReadySeconds"] as const) {
    const value = spec[field];
    if (typeof value === "number" && value < 0)
      errors.push(invalid(`spec.${field}`, value, "must be greater than or equal to 0"));
  }
  return errors;
}

const statusReplicas = {
  "status.replicas": (object: KubeObject) =>
    String((object.status as { replicas?: number } | undefined)?.replicas ?? 0),
};

export const replicaSets: ResourceDefinition = {
  group: "apps",
  version: "v1",
  plural: "replicasets",
  singular: "replicaset",
  kind: "ReplicaSet",
  namespaced: true,
  shortNames: ["rs"],
  categories: ["all"],
  hasStatus: true,
  validateStatus: validateCounts(countRules.replicaSet),
  newStatus: { replicas: 0 },
  hasGeneration: true,
  selectable: statusReplicas,
  scale: {
    specReplicas: "spec.replicas",
    statusReplicas: "status.replicas",
    selector: { path: "spec.selector", as: "labelSelector" },
  },
  columns,
  cells: (object, now) => cells(object, selectorText(specOf(object).selector), now),
  defaults(object) {
    object.spec ??= {};
    setDefault(specOf(object), "replicas", 1);
    object.spec ??= {};
    defaultTemplate(specOf(object));
  },
  warnings: (object, previous) => workloadWarnings(object, previous),
  validate(object, previous) {
    const errors = [
      ...validateWorkload(specOf(object), { kind: "ReplicaSet", emptyFor: "deployment" }),
      ...validateNumbers(specOf(object)),
    ];
    if (previous && !deepEqual(specOf(previous).selector, specOf(object).selector))
      errors.push(invalid("spec.selector", specOf(object).selector, "field is immutable"));
    return errors;
  },
};

export const replicationControllers: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "replicationcontrollers",
  singular: "replicationcontroller",
  kind: "ReplicationController",
  namespaced: true,
  shortNames: ["rc"],
  categories: ["all"],
  hasStatus: true,
  validateStatus: validateCounts(countRules.replicaSet),
  newStatus: { replicas: 0 },
  hasGeneration: true,
  orphansByDefault: true,
  selectable: statusReplicas,
  scale: {
    specReplicas: "spec.replicas",
    statusReplicas: "status.replicas",
    selector: { path: "spec.selector", as: "labels" },
  },
  columns,
  cells: (object, now) => cells(object, labelsText(specOf(object).selector as Record<string, string> | undefined), now),
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    setDefault(spec, "replicas", 1);
    // Of these controllers alone the template may be missing.
    if (spec.template) defaultTemplate(spec);
    const labels = spec.template?.metadata?.labels;
    if (labels && Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels } as LabelSelector;
    if (labels && !object.metadata.labels) object.metadata.labels = { ...labels };
  },
  warnings: (object, previous) => workloadWarnings(object, previous),
  validate(object) {
    const spec = specOf(object);
    const errors = validateNumbers(spec);
    const selector = Object.entries((spec.selector ?? {}) as Record<string, string>);
    if (selector.length === 0) errors.push(required("spec.selector"));
    if (!spec.template) return [...errors, required("spec.template")];
    const labels = spec.template.metadata?.labels ?? {};
    if (!selector.every(([key, value]) => labels[key] === value))
      errors.push(invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"));
    if (spec.template.spec?.activeDeadlineSeconds != null)
      errors.push(
        forbidden(
          "spec.template.spec.activeDeadlineSeconds",
          "activeDeadlineSeconds in ReplicationController is not Supported",
        ),
      );
    return [...errors, ...validateTemplate(spec.template, "spec.template")];
  },
};
