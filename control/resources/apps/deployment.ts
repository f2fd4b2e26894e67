// Deployment.

import { workloadWarnings } from "../pod-spec/warnings.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, forbidden, invalid, notSupported } from "../../machinery/field-error.ts";
import { type LabelSelector, selectorText } from "../label-selector.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import {
  defaultTemplate,
  type PodTemplate,
  templateCells,
  templateColumns,
  validateWorkload,
} from "../pod-template.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { isZero, validateIntOrPercent, validateNotAboveAll } from "../int-or-percent.ts";
import { countRules, validateCounts } from "./validate-counts.ts";

interface DeploymentSpec {
  replicas?: number;
  selector?: LabelSelector;
  template?: PodTemplate;
  strategy?: { type?: string; rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string } | null };
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  progressDeadlineSeconds?: number;
}

interface DeploymentStatus {
  readyReplicas?: number;
  updatedReplicas?: number;
  availableReplicas?: number;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as DeploymentSpec;

export const deployments: ResourceDefinition = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  singular: "deployment",
  kind: "Deployment",
  namespaced: true,
  shortNames: ["deploy"],
  categories: ["all"],
  hasStatus: true,
  validateStatus: validateCounts(countRules.deployment),
  hasGeneration: true,
  scale: {
    specReplicas: "spec.replicas",
    statusReplicas: "status.replicas",
    selector: { path: "spec.selector", as: "labelSelector" },
  },
  columns: [
    nameColumn,
    column("Ready", "How many replicas are ready, of how many."),
    column("Up-to-date", "How many replicas have the newest template."),
    column("Available", "How many replicas have been ready long enough."),
    ageColumn,
    ...templateColumns,
  ],
  cells(object, now) {
    const spec = specOf(object);
    const status = (object.status ?? {}) as DeploymentStatus;
    return [
      object.metadata.name,
      `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
      status.updatedReplicas ?? 0,
      status.availableReplicas ?? 0,
      age(object.metadata.creationTimestamp, now),
      ...templateCells(spec.template),
      selectorText(spec.selector),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    setDefault(spec, "replicas", 1);
    setDefault(spec, "revisionHistoryLimit", 10);
    setDefault(spec, "progressDeadlineSeconds", 600);
    setDefault(spec, "strategy", {});
    const strategy = spec.strategy as NonNullable<DeploymentSpec["strategy"]>;
    if (!strategy.type) strategy.type = "RollingUpdate";
    if (strategy.type === "RollingUpdate") {
      strategy.rollingUpdate ??= {};
      setDefault(strategy.rollingUpdate, "maxUnavailable", "25%");
      setDefault(strategy.rollingUpdate, "maxSurge", "25%");
    }
    defaultTemplate(spec);
  },
  prepareStatus(object, previous) {
    // Unlike with other kinds, whoever writes the status does not write labels.
    if (previous.metadata.labels) object.metadata.labels = previous.metadata.labels;
    else delete object.metadata.labels;
  },
  warnings: (object, previous) => workloadWarnings(object, previous),
  validate(object, previous) {
    const spec = specOf(object);
    const errors = [
      ...validateWorkload(spec, { kind: "ReplicaSet", emptyFor: "deployment" }),
      ...validateNumbers(spec),
    ];
    const strategy = spec.strategy ?? {};
    if (!["Recreate", "RollingUpdate"].includes(strategy.type ?? ""))
      errors.push(notSupported("spec.strategy", strategy, ["Recreate", "RollingUpdate"]));
    if (strategy.type === "Recreate" && strategy.rollingUpdate)
      errors.push(forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"));
    if (strategy.rollingUpdate) {
      const { maxUnavailable, maxSurge } = strategy.rollingUpdate;
      errors.push(...validateIntOrPercent(maxUnavailable, "spec.strategy.rollingUpdate.maxUnavailable"));
      errors.push(...validateIntOrPercent(maxSurge, "spec.strategy.rollingUpdate.maxSurge"));
      if (isZero(maxUnavailable) && isZero(maxSurge))
        errors.push(
          invalid("spec.strategy.rollingUpdate.maxUnavailable", maxUnavailable, "may not be 0 when `maxSurge` is 0"),
        );
      errors.push(...validateNotAboveAll(maxUnavailable, "spec.strategy.rollingUpdate.maxUnavailable"));
    }
    if (previous && !deepEqual(specOf(previous).selector, spec.selector))
      errors.push(invalid("spec.selector", spec.selector, "field is immutable"));
    return errors;
  },
};

function validateNumbers(spec: DeploymentSpec): FieldErrors {
  const errors: FieldErrors = [];
  for (const field of ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] as const) {
    const value = spec[field];
    if (typeof value === "number" && value < 0)
      errors.push(invalid(`spec.${field}`, value, "must be greater than or equal to 0"));
  }
  const { progressDeadlineSeconds, minReadySeconds } = spec;
  if (progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= (minReadySeconds ?? 0))
    errors.push(
      invalid("spec.progressDeadlineSeconds", progressDeadlineSeconds, "must be greater than minReadySeconds"),
    );
  return errors;
}
