// CronJobs as their controller reads them, and the jobs it makes.

import { apiVersionOf, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import { timestamp } from "../../manager/conditions.ts";
import { controllerReference } from "../../manager/owners.ts";
import type { Job } from "../job/objects.ts";

export interface CronJob {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string | null;
    readonly suspend?: boolean;
    readonly concurrencyPolicy?: string;
    readonly startingDeadlineSeconds?: number | null;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly jobTemplate: { readonly metadata?: ObjectMeta; readonly spec: Job["spec"] };
  };
  readonly status?: CronJobStatus;
}

export interface CronJobStatus {
  active?: {
    apiVersion: string;
    kind: string;
    namespace: string;
    name: string;
    uid: string;
    resourceVersion?: string;
  }[];
  lastScheduleTime?: string;
  lastSuccessfulTime?: string;
}

export const cronJobType = { apiVersion: "batch/v1", kind: "CronJob" };
const scheduledName = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** The same moment has the same name, so that no restart starts it twice. */
export const jobNameFor = (cron: CronJob, at: number) => `${cron.metadata.name}-${Math.floor(at / 60_000)}`;

export function jobFor(cron: CronJob, at: number): KubeObject {
  const { labels, annotations } = cron.spec.jobTemplate.metadata ?? {};
  return {
    apiVersion: apiVersionOf(resources.jobs),
    kind: "Job",
    metadata: {
      namespace: cron.metadata.namespace ?? "",
      name: jobNameFor(cron, at),
      labels: { ...labels },
      annotations: { ...annotations, [scheduledName]: timestamp(at) },
      ownerReferences: [controllerReference(cron, cronJobType)],
    },
    spec: structuredClone(cron.spec.jobTemplate.spec),
  };
}

export function referenceTo(job: Job): NonNullable<CronJobStatus["active"]>[number] {
  const { namespace = "", name = "", uid = "", resourceVersion } = job.metadata;
  return { apiVersion: "batch/v1", kind: "Job", namespace, name, uid, ...(resourceVersion ? { resourceVersion } : {}) };
}
