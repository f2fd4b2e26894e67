// How many pods a job wants now, which ones are too many, and which to make, with how long to wait for what must wait. Pure.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { deletionOrder } from "../pods/deletion-order.ts";
import { finishedAt, msToWait, recentFailures } from "./backoff.ts";
import { nextIndexes, parseIndexes } from "./indexes.ts";
import { failuresOfIndex, ignoredOf, indexOf, isIndexed, isTracked, type Job, type JobStatus } from "./objects.ts";
import { matchFailure } from "./policy.ts";
import { hasFailed, hasSucceeded, isActivePod, isTerminating, totals } from "./tally.ts";

interface PodWish {
  readonly index?: number;
  readonly failures?: { counted: number; ignored: number };
}

export interface JobPlan {
  readonly remove: readonly Pod[];
  readonly create: readonly PodWish[];
  /** Milliseconds until a pod that must wait may be made. */
  readonly waitMs?: number;
}

/** One round never makes more than this. */
const burst = 500;

export function wantedActive(job: Job, status: JobStatus, active: number): number {
  const parallelism = job.spec.parallelism ?? 1;
  const { succeeded } = totals(status);
  const { completions } = job.spec;
  if (completions === undefined || completions === null)
    return succeeded > 0 ? Math.min(active, parallelism) : parallelism;
  const failed = isIndexed(job) ? parseIndexes(status.failedIndexes, completions).size : 0;
  return Math.max(0, Math.min(parallelism, completions - succeeded - failed));
}

export function planPods(job: Job, status: JobStatus, pods: readonly Pod[], now: number): JobPlan {
  const { keep, surplus } = isIndexed(job)
    ? byIndex(job, status, pods)
    : { keep: pods.filter(isActivePod), surplus: [] };
  const wanted = wantedActive(job, status, keep.length);
  if (keep.length > wanted) {
    // One that lost its finalizer was about to be removed when the controller stopped: it would not be counted any more.
    const byRank = deletionOrder(keep, () => 0, now);
    const order = [...byRank.filter((pod) => !isTracked(pod)), ...byRank.filter(isTracked)];
    return { remove: [...surplus, ...order.slice(0, keep.length - wanted)], create: [] };
  }
  const leaving = job.spec.podReplacementPolicy === "Failed" ? pods.filter(isTerminating).length : 0;
  const missing = Math.min(burst, wanted - keep.length - leaving);
  if (missing <= 0) return { remove: surplus, create: [] };
  const wishes = isIndexed(job) ? indexWishes(job, status, pods, keep, missing, now) : undefined;
  if (wishes && job.spec.backoffLimitPerIndex !== undefined) return { remove: surplus, ...wishes };
  const failures = recentFailures(
    pods.filter(hasSucceeded),
    pods.filter((pod) => hasFailed(job, pod)),
  );
  const waitMs = msToWait(failures.count, failures.last, now);
  if (waitMs > 0) return { remove: surplus, create: [], waitMs };
  return { remove: surplus, create: wishes?.create ?? Array.from({ length: missing }, () => ({})) };
}

/** One active pod for each index that is still open; all others go. */
function byIndex(job: Job, status: JobStatus, pods: readonly Pod[]): { keep: Pod[]; surplus: Pod[] } {
  const completions = job.spec.completions ?? 0;
  const closed = new Set([
    ...parseIndexes(status.completedIndexes, completions),
    ...parseIndexes(status.failedIndexes, completions),
  ]);
  const keep = new Map<number, Pod>();
  const surplus: Pod[] = [];
  for (const pod of pods.filter(isActivePod)) {
    const index = indexOf(pod, completions);
    if (index === undefined || closed.has(index) || keep.has(index)) surplus.push(pod);
    else keep.set(index, pod);
  }
  return { keep: [...keep.values()], surplus };
}

function indexWishes(
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  active: readonly Pod[],
  missing: number,
  now: number,
): { create: PodWish[]; waitMs?: number } {
  const completions = job.spec.completions ?? 0;
  const done = parseIndexes(status.completedIndexes, completions);
  const failed = parseIndexes(status.failedIndexes, completions);
  const busy = new Set(active.map((pod) => indexOf(pod, completions)));
  if (job.spec.podReplacementPolicy === "Failed")
    for (const pod of pods.filter(isTerminating)) busy.add(indexOf(pod, completions));
  const lastOf = new Map<number, Pod>();
  if (job.spec.backoffLimitPerIndex !== undefined) {
    for (const pod of pods) {
      const index = indexOf(pod, completions);
      if (index === undefined || !hasFailed(job, pod)) continue;
      const known = lastOf.get(index);
      if (!known || attempts(pod) > attempts(known)) lastOf.set(index, pod);
    }
  }
  const waits: number[] = [];
  const indexes = nextIndexes(missing, completions, (index) => {
    if (done.has(index) || failed.has(index) || busy.has(index)) return true;
    const last = lastOf.get(index);
    const waitMs = last ? msToWait(attempts(last) + 1, finishedAt(last), now) : 0;
    if (waitMs > 0) waits.push(waitMs);
    return waitMs > 0;
  });
  const create = indexes.map((index) => ({ index, ...failuresFor(job, lastOf.get(index)) }));
  return { create, ...(waits.length > 0 ? { waitMs: Math.min(...waits) } : {}) };
}

const attempts = (pod: Pod) => failuresOfIndex(pod) + ignoredOf(pod);

function failuresFor(job: Job, last: Pod | undefined): Pick<PodWish, "failures"> {
  if (job.spec.backoffLimitPerIndex === undefined) return {};
  if (!last) return { failures: { counted: 0, ignored: 0 } };
  const isIgnored = matchFailure(job, last).action === "Ignore";
  const counted = failuresOfIndex(last) + (isIgnored ? 0 : 1);
  return { failures: { counted, ignored: ignoredOf(last) + (isIgnored ? 1 : 0) } };
}
