// DaemonSet.

import { workloadWarnings } from "../pod-spec/warnings.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, invalid, notListed, required } from "../../machinery/field-error.ts";
import { type LabelSelector, selectorText } from "../label-selector.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import {
  defaultTemplate,
  type PodTemplate,
  templateCells,
  templateColumns,
  validateWorkload,
} from "../pod-template.ts";
import { age, ageColumn, column, labelsText, nameColumn } from "../print.ts";
import { isZero, validateIntOrPercent, validateNotAboveAll } from "../int-or-percent.ts";
import { countRules, validateCounts } from "./validate-counts.ts";

interface DaemonSetSpec {
  selector?: LabelSelector;
  template?: PodTemplate;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  updateStrategy?: { type?: string; rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string } };
}

interface DaemonSetStatus {
  desiredNumberScheduled?: number;
  currentNumberScheduled?: number;
  numberReady?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as DaemonSetSpec;

/** Counts the templates, as earlier versions of the API did in a field. */
const templateGeneration = "deprecated.daemonset.template.generation";

export const daemonSets: ResourceDefinition = {
  group: "apps",
  version: "v1",
  plural: "daemonsets",
  singular: "daemonset",
  kind: "DaemonSet",
  namespaced: true,
  shortNames: ["ds"],
  categories: ["all"],
  hasStatus: true,
  validateStatus: validateCounts(countRules.daemonSet),
  newStatus: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Desired", "How many nodes should run its pod.", "integer"),
    column("Current", "How many nodes run at least one.", "integer"),
    column("Ready", "How many of the pods are ready.", "integer"),
    column("Up-to-date", "How many nodes run the newest template.", "integer"),
    column("Available", "How many pods have been ready long enough.", "integer"),
    column("Node Selector", "Which nodes it is for."),
    ageColumn,
    ...templateColumns,
  ],
  cells(object, now) {
    const spec = specOf(object);
    const status = (object.status ?? {}) as DaemonSetStatus;
    return [
      object.metadata.name,
      status.desiredNumberScheduled ?? 0,
      status.currentNumberScheduled ?? 0,
      status.numberReady ?? 0,
      status.updatedNumberScheduled ?? 0,
      status.numberAvailable ?? 0,
      labelsText(spec.template?.spec?.nodeSelector as Record<string, string> | undefined),
      age(object.metadata.creationTimestamp, now),
      ...templateCells(spec.template),
      selectorText(spec.selector),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    setDefault(spec, "revisionHistoryLimit", 10);
    spec.updateStrategy ??= {};
    if (!spec.updateStrategy.type) spec.updateStrategy.type = "RollingUpdate";
    if (spec.updateStrategy.type === "RollingUpdate") {
      spec.updateStrategy.rollingUpdate ??= {};
      setDefault(spec.updateStrategy.rollingUpdate, "maxUnavailable", 1);
      setDefault(spec.updateStrategy.rollingUpdate, "maxSurge", 0);
    }
    defaultTemplate(spec);
    object.metadata.annotations = { [templateGeneration]: "1", ...object.metadata.annotations };
  },
  prepareUpdate(object, previous) {
    const isSame = deepEqual(specOf(object).template, specOf(previous).template);
    const count = Number(previous.metadata.annotations?.[templateGeneration] ?? 0);
    object.metadata.annotations = {
      ...object.metadata.annotations,
      [templateGeneration]: String(isSame ? count : count + 1),
    };
  },
  warnings: (object, previous) => workloadWarnings(object, previous, { isNamed: false }),
  validate(object, previous) {
    const spec = specOf(object);
    const errors = validateWorkload(spec, { kind: "DaemonSet" });
    if (!["OnDelete", "RollingUpdate"].includes(spec.updateStrategy?.type ?? ""))
      errors.push(notListed("spec.updateStrategy", spec.updateStrategy ?? {}, ["RollingUpdate", "OnDelete"]));
    if (spec.updateStrategy?.type === "RollingUpdate") errors.push(...validateRolling(spec));
    for (const field of ["minReadySeconds", "revisionHistoryLimit"] as const)
      if ((spec[field] ?? 0) < 0)
        errors.push(invalid(`spec.${field}`, spec[field], "must be greater than or equal to 0"));
    if (previous && !deepEqual(specOf(previous).selector, spec.selector))
      errors.push(invalid("spec.selector", spec.selector, "field is immutable"));
    return errors;
  },
};

/** On a node either the old pod goes first or the new one comes first, not both and not neither. */
function validateRolling({ updateStrategy }: DaemonSetSpec): FieldErrors {
  const at = "spec.updateStrategy.rollingUpdate";
  const { maxUnavailable, maxSurge } = updateStrategy?.rollingUpdate ?? {};
  const errors = [
    ...validateIntOrPercent(maxUnavailable, `${at}.maxUnavailable`),
    ...validateIntOrPercent(maxSurge, `${at}.maxSurge`),
    ...validateNotAboveAll(maxUnavailable, `${at}.maxUnavailable`),
    ...validateNotAboveAll(maxSurge, `${at}.maxSurge`),
  ];
  if (!isZero(maxUnavailable) && !isZero(maxSurge))
    errors.push(invalid(`${at}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero"));
  if (isZero(maxUnavailable) && isZero(maxSurge))
    errors.push(required(`${at}.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
  return errors;
}
