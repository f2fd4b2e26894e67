// Validation of how far a job is. Most of it is looked at only when it changes, so that a job that was wrong before can go on.

import { deepEqual } from "../../machinery/equal.ts";
import { duplicate, type FieldErrors, invalid, required } from "../../machinery/field-error.ts";

interface JobStatus {
  active?: number;
  ready?: number | null;
  terminating?: number | null;
  succeeded?: number;
  failed?: number;
  startTime?: string | null;
  completionTime?: string | null;
  completedIndexes?: string;
  failedIndexes?: string | null;
  uncountedTerminatedPods?: { succeeded?: string[] | null; failed?: string[] | null } | null;
  conditions?: { type?: string; status?: string }[] | null;
}

export interface JobState {
  readonly spec: {
    completions?: number | null;
    parallelism?: number | null;
    completionMode?: string | null;
    suspend?: boolean | null;
    backoffLimitPerIndex?: number | null;
  };
  readonly status: JobStatus;
}

const has = ({ status }: JobState, type: string) =>
  (status.conditions ?? []).some((condition) => condition.type === type && condition.status === "True");
const isFinished = (job: JobState) => has(job, "Complete") || has(job, "Failed");
/** Conditions have no value that could be shown. */
const wrongConditions = (problem: string): FieldErrors[number] => ({
  type: "FieldValueInvalid",
  field: "status.conditions",
  message: `Invalid value: ${problem}`,
});

export function validateJobStatus(job: JobState, previous: JobState): FieldErrors {
  const errors: FieldErrors = [];
  validateCounts(job, previous, errors);
  validateConditions(job, previous, errors);
  validateTimes(job, previous, errors);
  validateIndexes(job, previous, errors);
  return errors;
}

function validateCounts({ spec, status }: JobState, previous: JobState, errors: FieldErrors): void {
  const before = previous.status;
  for (const name of ["active", "succeeded", "failed", "ready", "terminating"] as const)
    if ((status[name] ?? 0) < 0)
      errors.push(invalid(`status.${name}`, status[name], "must be greater than or equal to 0"));
  const seen = new Set<string>();
  for (const name of ["succeeded", "failed"] as const)
    (status.uncountedTerminatedPods?.[name] ?? []).forEach((uid, index) => {
      const field = `status.uncountedTerminatedPods.${name}[${index}]`;
      if (uid === "") errors.push(invalid(field, uid, "must not be empty"));
      else if (seen.has(uid)) errors.push(duplicate(field, uid));
      seen.add(uid);
    });
  if ((status.ready ?? 0) > (status.active ?? 0) && (status.ready !== before.ready || status.active !== before.active))
    errors.push(invalid("status.ready", status.ready, "cannot set more ready pods than active"));
  // A job that is as wide as it is long can be made smaller.
  const canShrink = spec.completionMode === "Indexed" && spec.completions === spec.parallelism;
  for (const name of ["failed", "succeeded"] as const)
    if ((status[name] ?? 0) < (before[name] ?? 0) && !(name === "succeeded" && canShrink))
      errors.push(invalid(`status.${name}`, status[name] ?? 0, `cannot decrease the ${name} counter`));
}

function validateConditions(job: JobState, previous: JobState, errors: FieldErrors): void {
  const isNew = (...types: string[]) => types.some((type) => has(job, type) !== has(previous, type));
  const both = (one: string, other: string) => has(job, one) && has(job, other);
  if (isNew("Complete", "Failed") && both("Complete", "Failed"))
    errors.push(wrongConditions("cannot set Complete=True and Failed=true conditions"));
  if (isNew("Complete", "FailureTarget") && both("Complete", "FailureTarget"))
    errors.push(wrongConditions("cannot set Complete=True and FailureTarget=true conditions"));
  if (isNew("Failed") && has(job, "Failed") && !has(job, "FailureTarget"))
    errors.push(wrongConditions("cannot set Failed=True condition without the FailureTarget=true condition"));
  if (isNew("Complete", "SuccessCriteriaMet") && has(job, "Complete") && !has(job, "SuccessCriteriaMet"))
    errors.push(wrongConditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"));
  if (both("SuccessCriteriaMet", "Failed"))
    errors.push(wrongConditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"));
  if (both("SuccessCriteriaMet", "FailureTarget"))
    errors.push(wrongConditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"));
  for (const type of ["Failed", "Complete", "FailureTarget"])
    if (has(previous, type) && !has(job, type))
      errors.push(wrongConditions(`cannot disable the terminal ${type}=True condition`));
  if (has(previous, "SuccessCriteriaMet") && !has(job, "SuccessCriteriaMet"))
    errors.push(wrongConditions("cannot disable the SuccessCriteriaMet=True condition"));
  validateEnd(job, previous, errors);
}

/** When a job has ended, nothing of it goes on. */
function validateEnd(job: JobState, previous: JobState, errors: FieldErrors): void {
  if (!isFinished(job)) return;
  const { status } = job;
  const isNew = (name: keyof JobStatus) =>
    !isFinished(previous) || !deepEqual(status[name] ?? undefined, previous.status[name] ?? undefined);
  for (const name of ["active", "terminating"] as const)
    if ((status[name] ?? 0) > 0 && isNew(name))
      errors.push(invalid(`status.${name}`, status[name], `${name}>0 is invalid for finished job`));
  const isIdle = job.spec.suspend === true && job.spec.completions === 0;
  if (!status.startTime && isNew("startTime") && !isIdle)
    errors.push(required("status.startTime", "startTime is required for finished job"));
  const { succeeded, failed } = status.uncountedTerminatedPods ?? {};
  if ((succeeded?.length || failed?.length) && isNew("uncountedTerminatedPods"))
    errors.push(
      invalid(
        "status.uncountedTerminatedPods",
        status.uncountedTerminatedPods,
        "uncountedTerminatedPods needs to be empty for finished job",
      ),
    );
}

function validateTimes(job: JobState, previous: JobState, errors: FieldErrors): void {
  const { startTime: start, completionTime: end } = job.status;
  const { startTime: startBefore, completionTime: endBefore } = previous.status;
  const field = "status.completionTime";
  const isEndNew = (end ?? undefined) !== (endBefore ?? undefined);
  const isStartNew = (start ?? undefined) !== (startBefore ?? undefined);
  const isComplete = has(job, "Complete");
  if (isEndNew || isComplete !== has(previous, "Complete")) {
    if (end && !isComplete)
      errors.push(invalid(field, end, "cannot set completionTime when there is no Complete=True condition"));
    if (!end && isComplete) errors.push(required(field, "completionTime is required for Complete jobs"));
  }
  if ((isEndNew || isStartNew) && start && end && Date.parse(end) < Date.parse(start))
    errors.push(invalid(field, end, "completionTime cannot be set before startTime"));
  if (isEndNew && end && endBefore) errors.push(invalid(field, end, "completionTime cannot be mutated"));
  if (isStartNew && startBefore && !job.spec.suspend)
    errors.push(required("status.startTime", "startTime cannot be removed for unsuspended job"));
}

function validateIndexes({ spec, status }: JobState, previous: JobState, errors: FieldErrors): void {
  const { completedIndexes: completed = "", failedIndexes: failed } = status;
  if (completed !== (previous.status.completedIndexes ?? "")) {
    const field = "status.completedIndexes";
    const problem = spec.completions == null ? undefined : indexesProblem(completed, spec.completions);
    if (problem) errors.push(invalid(field, completed, `error parsing completedIndexes: ${problem}`));
    if (completed !== "" && spec.completionMode !== "Indexed")
      errors.push(invalid(field, completed, "cannot set non-empty completedIndexes when non-indexed completion mode"));
  }
  const isFailedNew = failed != null && failed !== previous.status.failedIndexes;
  if (failed != null && (isFailedNew || completed !== (previous.status.completedIndexes ?? ""))) {
    const shared = spec.completions == null ? undefined : overlap(completed, failed, spec.completions);
    if (shared !== undefined)
      errors.push(
        invalid("status.failedIndexes", failed, `failedIndexes and completedIndexes overlap at index: ${shared}`),
      );
  }
  if (!isFailedNew) return;
  const field = "status.failedIndexes";
  if (spec.backoffLimitPerIndex == null)
    errors.push(invalid(field, failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"));
  else if (spec.completions != null) {
    const problem = indexesProblem(failed, spec.completions);
    if (problem) errors.push(invalid(field, failed, `error parsing failedIndexes: ${problem}`));
  }
}

/** The first index that stands in both; parts that cannot be read are told of elsewhere. */
function overlap(one: string, other: string, completions: number): number | undefined {
  const intervals = (text: string) =>
    text
      .split(",")
      .filter((part) => part !== "" && indexesProblem(part, completions) === undefined)
      .map((part) => part.split("-").map(Number))
      .map(([first = 0, last = first]) => [first, last] as const);
  for (const [first, last] of intervals(one))
    for (const [from, to] of intervals(other)) if (first <= to && from <= last) return Math.max(first, from);
  return undefined;
}

/** Of the short form, `0,2-4`: each index is below the number of completions, and above the one before. */
function indexesProblem(text: string, completions: number): string | undefined {
  let last = -1;
  for (const part of text === "" ? [] : text.split(",")) {
    const limits = part.split("-");
    if (limits.length > 2)
      return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    for (const limit of limits) {
      const index = Number(limit);
      if (!/^\d+$/.test(limit)) return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
      if (index >= completions) return `too large index: ${JSON.stringify(limit)}`;
      if (index <= last) return `non-increasing order, previous: ${last}, current: ${index}`;
      last = index;
    }
  }
  return undefined;
}
