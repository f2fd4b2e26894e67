// Job.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../equal.ts";
import { type FieldErrors, invalid, notSupported, required } from "../field-error.ts";
import { type LabelSelector, selectorText } from "../label-selector.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import {
  defaultTemplate,
  type PodTemplate,
  templateCells,
  templateColumns,
  validateTemplate,
} from "../pod-template.ts";
import { age, ageColumn, column, humanDuration, nameColumn, since } from "../print.ts";

export interface JobSpec {
  parallelism?: number;
  completions?: number | null;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  completionMode?: string;
  suspend?: boolean;
  manualSelector?: boolean;
  podReplacementPolicy?: string;
  podFailurePolicy?: unknown;
  selector?: LabelSelector;
  template?: PodTemplate;
}

interface JobStatus {
  succeeded?: number;
  startTime?: string;
  completionTime?: string;
  conditions?: { type: string; status: string }[];
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as JobSpec;

function defaultJobSpec(spec: JobSpec): void {
  if (
    (spec.completions === undefined || spec.completions === null) &&
    (spec.parallelism === undefined || spec.parallelism === null)
  ) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  setDefault(spec, "parallelism", 1);
  setDefault(spec, "backoffLimit", spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1);
  setDefault(spec, "completionMode", "NonIndexed");
  setDefault(spec, "suspend", false);
  setDefault(spec, "manualSelector", false);
  setDefault(spec, "podReplacementPolicy", spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed");
  defaultTemplate(spec.template);
}

export function validateJobSpec(spec: JobSpec, field: string): FieldErrors {
  const errors: FieldErrors = [];
  for (const name of [
    "parallelism",
    "completions",
    "backoffLimit",
    "activeDeadlineSeconds",
    "ttlSecondsAfterFinished",
  ] as const) {
    const value = spec[name];
    if (typeof value === "number" && value < 0)
      errors.push(invalid(`${field}.${name}`, value, "must be greater than or equal to 0"));
  }
  if (spec.completionMode === "Indexed" && (spec.completions === undefined || spec.completions === null))
    errors.push(required(`${field}.completions`, "when completion mode is Indexed"));
  if (!["NonIndexed", "Indexed"].includes(spec.completionMode ?? "NonIndexed"))
    errors.push(notSupported(`${field}.completionMode`, spec.completionMode, ["NonIndexed", "Indexed"]));
  if (!spec.template) return [...errors, required(`${field}.template`)];
  errors.push(...validateTemplate(spec.template, `${field}.template`));
  const policy = spec.template.spec?.restartPolicy;
  if (policy !== undefined && policy !== "OnFailure" && policy !== "Never")
    errors.push(
      policy === "Always"
        ? required(`${field}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')
        : notSupported(`${field}.template.spec.restartPolicy`, policy, ["OnFailure", "Never"]),
    );
  return errors;
}

export const jobs: ResourceDefinition = {
  group: "batch",
  version: "v1",
  plural: "jobs",
  singular: "job",
  kind: "Job",
  namespaced: true,
  categories: ["all"],
  hasStatus: true,
  hasGeneration: true,
  orphansByDefault: true,
  selectable: {
    "status.successful": (object) => String((object.status as JobStatus | undefined)?.succeeded ?? 0),
  },
  columns: [
    nameColumn,
    column("Status", "How it stands."),
    column("Completions", "How many pods succeeded, of how many."),
    column("Duration", "How long it has run, or ran."),
    ageColumn,
    ...templateColumns,
  ],
  cells(object, now) {
    const spec = specOf(object);
    const status = (object.status ?? {}) as JobStatus;
    return [
      object.metadata.name,
      statusText(object, status),
      completionsText(spec, status),
      durationText(status, now),
      age(object.metadata.creationTimestamp, now),
      ...templateCells(spec.template),
      selectorText(spec.selector),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    defaultJobSpec(specOf(object));
  },
  prepareCreate(object) {
    selectOwnPods(object);
    object.status = {};
  },
  validate(object, previous) {
    const spec = specOf(object);
    const errors = validateJobSpec(spec, "spec");
    if (!spec.selector) errors.push(required("spec.selector"));
    if (previous) {
      const before = specOf(previous);
      for (const name of ["selector", "completionMode", "podFailurePolicy"] as const)
        if (!deepEqual(spec[name], before[name]))
          errors.push(invalid(`spec.${name}`, spec[name] ?? null, "field is immutable"));
      if (spec.completionMode !== "Indexed" && !deepEqual(spec.completions, before.completions))
        errors.push(invalid("spec.completions", spec.completions ?? null, "field is immutable"));
      const isWaiting = before.suspend === true && !(previous.status as JobStatus | undefined)?.startTime;
      if (!isWaiting && !deepEqual(spec.template, before.template))
        errors.push(invalid("spec.template", spec.template, "field is immutable"));
    }
    return errors;
  },
};

/** Without a selector of its own a job finds its pods by its uid. */
function selectOwnPods(object: KubeObject): void {
  const spec = specOf(object);
  if (spec.manualSelector || !spec.template) return;
  const { uid = "", name = "" } = object.metadata;
  spec.template.metadata ??= {};
  spec.template.metadata.labels = {
    ...spec.template.metadata.labels,
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  };
  spec.selector ??= { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
}

function statusText(object: KubeObject, status: JobStatus): string {
  const has = (type: string) => status.conditions?.some((one) => one.type === type && one.status === "True") === true;
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (object.metadata.deletionTimestamp !== undefined) return "Terminating";
  if (has("Suspended")) return "Suspended";
  if (has("FailureTarget")) return "FailureTarget";
  if (has("SuccessCriteriaMet")) return "SuccessCriteriaMet";
  return "Running";
}

function completionsText(spec: JobSpec, status: JobStatus): string {
  const done = status.succeeded ?? 0;
  if (spec.completions !== undefined && spec.completions !== null) return `${done}/${spec.completions}`;
  const parallelism = spec.parallelism ?? 0;
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
}

function durationText(status: JobStatus, now: number): string {
  if (!status.startTime) return "";
  const started = Date.parse(status.startTime);
  return status.completionTime ? humanDuration(Date.parse(status.completionTime) - started) : since(started, now);
}
