// Which finished jobs of a cron job are beyond what it keeps. Pure.

import { conditionOf, type Job } from "../job/objects.ts";
import type { CronJob } from "./objects.ts";

export function beyondHistory(cron: CronJob, jobs: readonly Job[]): Job[] {
  const done = (type: string) => jobs.filter((job) => conditionOf(job, type) && !job.metadata.deletionTimestamp);
  return [
    ...oldest(done("Complete"), cron.spec.successfulJobsHistoryLimit ?? 3),
    ...oldest(done("Failed"), cron.spec.failedJobsHistoryLimit ?? 1),
  ];
}

function oldest(jobs: readonly Job[], keep: number): Job[] {
  const start = (job: Job) => Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp ?? "") || 0;
  const byStart = [...jobs].sort(
    (a, b) => start(a) - start(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1),
  );
  return byStart.slice(0, Math.max(0, byStart.length - keep));
}
