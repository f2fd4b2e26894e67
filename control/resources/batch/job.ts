// Job.

import { warnOfJob } from "./warn-of-job.ts";
import { warnOfName } from "../pod-spec/warnings.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type LabelSelector, selectorText } from "../label-selector.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import { defaultTemplate, type PodTemplate, templateCells, templateColumns } from "../pod-template.ts";
import { validateJob, validateJobUpdate } from "./validate-job.ts";
import { type JobState, validateJobStatus } from "./validate-job-status.ts";
import { age, ageColumn, column, humanDuration, nameColumn, since } from "../print.ts";

export interface FailureRule {
  action?: string;
  onExitCodes?: { operator?: string; containerName?: string | null; values?: number[] };
  onPodConditions?: { type?: string; status?: string }[];
}

export interface SuccessRule {
  succeededCount?: number | null;
  succeededIndexes?: string | null;
}

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
  maxFailedIndexes?: number;
  managedBy?: string | null;
  podFailurePolicy?: { rules?: FailureRule[] };
  successPolicy?: { rules?: SuccessRule[] };
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
  for (const rule of spec.podFailurePolicy?.rules ?? [])
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= "True";
  defaultTemplate(spec);
}

const stateOf = ({ spec, status }: KubeObject) => ({ spec: spec ?? {}, status: status ?? {} }) as JobState;

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
  orphanWarning:
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
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
    const spec = specOf(object);
    const labels = spec.template?.metadata?.labels;
    // The very same labels: those that the server adds to the template are the job's, too.
    if (labels && Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = labels;
    defaultJobSpec(spec);
  },
  prepareCreate(object) {
    selectOwnPods(object);
    object.status = {};
  },
  validateStatus: (object, previous) => validateJobStatus(stateOf(object), stateOf(previous)),
  warnings(object, previous) {
    if (previous && object.metadata.generation === previous.metadata.generation) return [];
    return [...(previous ? [] : warnOfName(object.metadata.name)), ...warnOfJob(specOf(object), "spec")];
  },
  validate: (object, previous) =>
    previous ? [...validateJob(object), ...validateJobUpdate(object, previous)] : validateJob(object),
};

/** Without a selector of its own a job finds its pods by its uid. */
function selectOwnPods(object: KubeObject): void {
  const spec = specOf(object);
  if (spec.manualSelector || !spec.template) return;
  const { uid = "", name = "" } = object.metadata;
  spec.template.metadata ??= {};
  spec.template.metadata.labels ??= {};
  if (Object.keys(object.metadata.labels ?? {}).length === 0)
    object.metadata.labels = spec.template.metadata.labels as Record<string, string>;
  Object.assign(spec.template.metadata.labels, {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  });
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
