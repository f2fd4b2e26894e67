// Jobs as their controller reads them, and the names by which they mark their pods.

import type { ObjectMeta, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Condition } from "../../manager/conditions.ts";
import type { PodTemplate } from "../pods/pod-control.ts";

export interface FailureRule {
  readonly action: "FailJob" | "FailIndex" | "Ignore" | "Count";
  readonly onExitCodes?: {
    readonly containerName?: string | null;
    readonly operator: string;
    readonly values: readonly number[];
  } | null;
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[] | null;
}

interface SuccessRule {
  readonly succeededIndexes?: string;
  readonly succeededCount?: number;
}

export interface JobStatus {
  active?: number;
  ready?: number;
  terminating?: number;
  succeeded?: number;
  failed?: number;
  startTime?: string;
  completionTime?: string;
  completedIndexes?: string;
  failedIndexes?: string;
  uncountedTerminatedPods?: { succeeded?: string[]; failed?: string[] };
  conditions?: Condition[];
}

export interface Job {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly parallelism?: number;
    readonly completions?: number | null;
    readonly completionMode?: string;
    readonly backoffLimit?: number;
    readonly backoffLimitPerIndex?: number;
    readonly maxFailedIndexes?: number;
    readonly activeDeadlineSeconds?: number;
    readonly ttlSecondsAfterFinished?: number;
    readonly suspend?: boolean;
    readonly podReplacementPolicy?: string;
    readonly podFailurePolicy?: { readonly rules: readonly FailureRule[] };
    readonly successPolicy?: { readonly rules: readonly SuccessRule[] };
    readonly managedBy?: string;
    readonly selector?: object;
    readonly template: PodTemplate;
  };
  readonly status?: JobStatus;
}

export const jobType = { apiVersion: "batch/v1", kind: "Job" };
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexName = "batch.kubernetes.io/job-completion-index";
export const indexFailuresName = "batch.kubernetes.io/job-index-failure-count";
export const indexIgnoredName = "batch.kubernetes.io/job-index-ignored-failure-count";
export const jobController = "kubernetes.io/job-controller";

export const isIndexed = (job: Job) => job.spec.completionMode === "Indexed";

export const isTracked = (pod: Pod) => pod.metadata.finalizers?.includes(trackingFinalizer) ?? false;

/** The index of a pod of an indexed job, or undefined when it has none that counts. */
export function indexOf(pod: Pod, completions: number): number | undefined {
  const text = pod.metadata.annotations?.[indexName] ?? pod.metadata.labels?.[indexName];
  if (text === undefined || !/^\d+$/.test(text)) return undefined;
  const index = Number(text);
  return index < completions ? index : undefined;
}

export function failuresOfIndex(pod: Pod): number {
  return Number(pod.metadata.annotations?.[indexFailuresName] ?? 0) || 0;
}

export const ignoredOf = (pod: Pod) => Number(pod.metadata.annotations?.[indexIgnoredName] ?? 0) || 0;

export function conditionOf(job: { readonly status?: JobStatus }, type: string): Condition | undefined {
  return job.status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
}

export const isFinished = (job: { readonly status?: JobStatus }) =>
  conditionOf(job, "Complete") !== undefined || conditionOf(job, "Failed") !== undefined;
