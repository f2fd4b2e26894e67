// Whether a job is decided, and why: deadline, limits, policies or completions reached. Pure.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { parseIndexes } from "./indexes.ts";
import { isIndexed, type Job, type JobStatus } from "./objects.ts";
import { matchFailure, matchSuccess } from "./policy.ts";
import { hasFailed, isActivePod, totals } from "./tally.ts";

export interface Verdict {
  readonly outcome: "success" | "failure";
  readonly reason: string;
  readonly message: string;
}

const failure = (reason: string, message: string): Verdict => ({ outcome: "failure", reason, message });

export function judge(job: Job, status: JobStatus, pods: readonly Pod[], now: number): Verdict | undefined {
  const known = status.conditions?.find(
    ({ type, status: answer }) => answer === "True" && (type === "FailureTarget" || type === "SuccessCriteriaMet"),
  );
  if (known) {
    const outcome = known.type === "FailureTarget" ? "failure" : "success";
    return { outcome, reason: known.reason ?? "", message: known.message ?? "" };
  }
  return judgeFailure(job, status, pods, now) ?? judgeSuccess(job, status, pods);
}

function judgeFailure(job: Job, status: JobStatus, pods: readonly Pod[], now: number): Verdict | undefined {
  for (const pod of pods) {
    if (!hasFailed(job, pod)) continue;
    const match = matchFailure(job, pod);
    if (match.action === "FailJob") return failure("PodFailurePolicy", match.message);
  }
  const { failed } = totals(status);
  const limit = job.spec.backoffLimit ?? 6;
  if (failed > limit || restartsReach(job, pods, limit))
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if (msUntilDeadline(job, status, now) === 0)
    return failure("DeadlineExceeded", "Job was active longer than specified deadline");
  if (isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined) {
    const completions = job.spec.completions ?? 0;
    const failedIndexes = parseIndexes(status.failedIndexes, completions);
    if (job.spec.maxFailedIndexes !== undefined && failedIndexes.size > job.spec.maxFailedIndexes)
      return failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
    const done = parseIndexes(status.completedIndexes, completions);
    if (failedIndexes.size > 0 && new Set([...done, ...failedIndexes]).size >= completions)
      return failure("FailedIndexes", "Job has failed indexes");
  }
  return undefined;
}

/** With restarts on the node, the containers' restarts are the failures. */
function restartsReach(job: Job, pods: readonly Pod[], limit: number): boolean {
  if (job.spec.template.spec?.restartPolicy !== "OnFailure") return false;
  let restarts = 0;
  for (const pod of pods) {
    if (pod.status?.phase !== "Running" && pod.status?.phase !== "Pending") continue;
    for (const each of [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])])
      restarts += each.restartCount ?? 0;
  }
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function judgeSuccess(job: Job, status: JobStatus, pods: readonly Pod[]): Verdict | undefined {
  const { completions } = job.spec;
  const { succeeded } = totals(status);
  if (isIndexed(job)) {
    const rule = matchSuccess(job, parseIndexes(status.completedIndexes, completions ?? 0));
    if (rule !== undefined)
      return { outcome: "success", reason: "SuccessPolicy", message: `Matched rules at index ${rule}` };
  }
  const isActive = pods.some(isActivePod);
  const isDone =
    completions === undefined || completions === null
      ? succeeded > 0 && !isActive
      : succeeded >= completions && !isActive;
  if (!isDone) return undefined;
  return {
    outcome: "success",
    reason: "CompletionsReached",
    message: "Reached expected number of succeeded pods",
  };
}

/** Milliseconds until the job has been active for too long; undefined without a limit. */
export function msUntilDeadline(job: Job, status: JobStatus, now: number): number | undefined {
  if (job.spec.activeDeadlineSeconds === undefined || !status.startTime || job.spec.suspend) return undefined;
  return Math.max(0, Date.parse(status.startTime) + job.spec.activeDeadlineSeconds * 1000 - now);
}
