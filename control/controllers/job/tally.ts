// Counts a job's pods without losing or doubling any: a finished pod's uid goes into the status before its finalizer goes, and
// into the numbers after. Pure; `trackingStep` gives the next status and whose finalizers may go.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { formatIndexes, parseIndexes } from "./indexes.ts";
import {
  conditionOf,
  failuresOfIndex,
  ignoredOf,
  indexOf,
  isIndexed,
  isTracked,
  type Job,
  type JobStatus,
} from "./objects.ts";
import { matchFailure } from "./policy.ts";

const uncountedAtOnce = 500;

export const hasSucceeded = (pod: Pod) => pod.status?.phase === "Succeeded";

/**
 * A pod on its way out counts as failed at once, unless replacements wait for its end. One that the controller removed itself (job
 * suspended, parallelism lowered, surplus of an index) has lost its finalizer before, and never counts.
 */
export function hasFailed(job: Job, pod: Pod): boolean {
  if (!isTracked(pod) && pod.metadata.deletionTimestamp !== undefined) return false;
  if (pod.status?.phase === "Failed") return true;
  if (job.spec.podReplacementPolicy === "Failed" || hasSucceeded(pod)) return false;
  return pod.metadata.deletionTimestamp !== undefined;
}

export const isActivePod = (pod: Pod) => !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
export const isTerminating = (pod: Pod) => !isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined;

export interface TrackingStep {
  readonly status: JobStatus;
  /** Pods that are in the status now: their finalizers may go once it is written. */
  readonly release: readonly Pod[];
}

export function trackingStep(job: Job, pods: readonly Pod[]): TrackingStep {
  const status: JobStatus = { ...job.status };
  const tracked = new Map(pods.filter(isTracked).map((pod) => [pod.metadata.uid ?? "", pod]));
  const completions = job.spec.completions ?? 0;
  const completed = parseIndexes(status.completedIndexes, completions);
  const failedIndexes = parseIndexes(status.failedIndexes, completions);
  const succeededUids: string[] = [];
  const failedUids: string[] = [];
  const release: Pod[] = [];
  for (const uid of status.uncountedTerminatedPods?.succeeded ?? [])
    if (tracked.has(uid)) succeededUids.push(uid);
    else status.succeeded = (status.succeeded ?? 0) + 1;
  for (const uid of status.uncountedTerminatedPods?.failed ?? [])
    if (tracked.has(uid)) failedUids.push(uid);
    else status.failed = (status.failed ?? 0) + 1;

  const known = new Set([...succeededUids, ...failedUids]);
  for (const [uid, pod] of tracked) {
    if (known.has(uid)) {
      release.push(pod);
      continue;
    }
    if (release.length >= uncountedAtOnce) break;
    if (awaitsReplacement(job, pod, pods, failedIndexes)) continue;
    if (hasSucceeded(pod)) {
      const index = isIndexed(job) ? indexOf(pod, completions) : undefined;
      if (index !== undefined) completed.add(index);
      else if (!isIndexed(job)) succeededUids.push(uid);
      release.push(pod);
    } else if (hasFailed(job, pod)) {
      const { action } = matchFailure(job, pod);
      const index = isIndexed(job) ? indexOf(pod, completions) : undefined;
      if (index !== undefined && !completed.has(index) && hasIndexFailed(job, pod, action)) failedIndexes.add(index);
      if (action !== "Ignore") failedUids.push(uid);
      release.push(pod);
    }
  }
  if (isIndexed(job)) {
    status.succeeded = completed.size;
    if (completed.size > 0 || status.completedIndexes) status.completedIndexes = formatIndexes(completed);
    if (job.spec.backoffLimitPerIndex !== undefined) status.failedIndexes = formatIndexes(failedIndexes);
  }
  status.uncountedTerminatedPods = {
    ...(succeededUids.length > 0 ? { succeeded: succeededUids } : {}),
    ...(failedUids.length > 0 ? { failed: failedUids } : {}),
  };
  return { status, release };
}

/**
 * With a limit for each index, the failures of an index are carried from pod to pod: the failed one must stay until its
 * replacement is there, or the count would be lost with it.
 */
function awaitsReplacement(job: Job, pod: Pod, pods: readonly Pod[], failedIndexes: ReadonlySet<number>): boolean {
  if (job.spec.backoffLimitPerIndex === undefined || isDecided(job) || !hasFailed(job, pod)) return false;
  const completions = job.spec.completions ?? 0;
  const index = indexOf(pod, completions);
  if (index === undefined || failedIndexes.has(index) || hasIndexFailed(job, pod, matchFailure(job, pod).action))
    return false;
  const attempts = (one: Pod) => failuresOfIndex(one) + ignoredOf(one);
  return !pods.some((other) => indexOf(other, completions) === index && attempts(other) > attempts(pod));
}

const isDecided = (job: Job) =>
  conditionOf(job, "FailureTarget") !== undefined || conditionOf(job, "SuccessCriteriaMet") !== undefined;

function hasIndexFailed(job: Job, pod: Pod, action: string): boolean {
  const limit = job.spec.backoffLimitPerIndex;
  if (limit === undefined || action === "Ignore") return false;
  return action === "FailIndex" || failuresOfIndex(pod) >= limit;
}

/** With what waits to be counted. */
export function totals(status: JobStatus): { succeeded: number; failed: number } {
  return {
    succeeded: (status.succeeded ?? 0) + (status.uncountedTerminatedPods?.succeeded?.length ?? 0),
    failed: (status.failed ?? 0) + (status.uncountedTerminatedPods?.failed?.length ?? 0),
  };
}
