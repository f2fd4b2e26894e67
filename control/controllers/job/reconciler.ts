// Job: runs pods until enough of them succeeded, or too many failed, and counts each exactly once.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import { isTrue, timestamp, withCondition } from "../../manager/conditions.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerOf, keyOf, splitKey } from "../../manager/owners.ts";
import { slowStart } from "../../manager/slow-start.ts";
import { writeStatus } from "../../manager/write-status.ts";
import { claim } from "../pods/claim.ts";
import { PodControl } from "../pods/pod-control.ts";
import { isReady } from "../pods/pod-facts.ts";
import { planPods } from "./manage.ts";
import {
  isFinished,
  isTracked,
  type Job,
  jobController as managedHere,
  type JobStatus,
  jobType,
  trackingFinalizer,
} from "./objects.ts";
import { jobPod } from "./pod.ts";
import { isActivePod, isTerminating, trackingStep } from "./tally.ts";
import { judge, msUntilDeadline, type Verdict } from "./verdict.ts";

/** The key of no job, under which tracked pods of a namespace that belong to no job are released. */
const orphansOf = (namespace: string) => `${namespace}/`;

export const jobController: ControllerFactory = (context) => {
  const { client, informers, clock, events } = context;
  const jobs = informers.for<Job>(resources.jobs);
  const pods = informers.for<Pod>(resources.pods);
  const control = new PodControl(context);

  const keysOf = (pod: Pod): string[] => {
    const namespace = pod.metadata.namespace ?? "";
    const reference = controllerOf(pod);
    if (reference?.kind === "Job") return [`${namespace}/${reference.name}`];
    const adopters = reference ? [] : adoptersOf(pod).map(keyOf);
    return adopters.length === 0 && isTracked(pod) ? [orphansOf(namespace)] : adopters;
  };

  const adoptersOf = (pod: Pod): Job[] =>
    jobs
      .list(pod.metadata.namespace ?? "")
      .filter((job) => labelSelectorOf(job.spec.selector).matches(pod.metadata.labels));

  async function removeFinalizers(some: readonly Pod[], call: Call): Promise<void> {
    const results = await Promise.allSettled(
      some.filter(isTracked).map(async (pod) => {
        const { namespace = "", name = "", uid } = pod.metadata;
        const metadata = { uid, "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] };
        try {
          await client.patch(resources.pods, { namespace, name }, { type: "strategic", body: { metadata } }, call);
        } catch (error) {
          if (!isFault(error, "not-found", "conflict")) throw error;
        }
      }),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** Tracked pods whose job is gone, or that belong to no job: nobody will count them. */
  function orphans(namespace: string, name: string): Pod[] {
    return pods.list(namespace).filter((pod) => {
      if (!isTracked(pod)) return false;
      const owner = controllerOf(pod);
      if (owner?.kind === "Job") return owner.name === name && jobs.get(namespace, name)?.metadata.uid !== owner.uid;
      return owner !== undefined || adoptersOf(pod).length === 0;
    });
  }

  /** The pods keep their finalizers and are counted when they end. */
  async function deletePods(job: Job, some: readonly Pod[], call: Call): Promise<void> {
    const results = await Promise.allSettled(
      some.map((pod) => control.delete({ object: job, type: jobType }, pod, call)),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** The pods lose their finalizers first, so that they are never counted as failed. */
  async function removePods(job: Job, some: readonly Pod[], call: Call): Promise<void> {
    await removeFinalizers(some, call);
    await deletePods(job, some, call);
  }

  function started(job: Job, status: JobStatus): JobStatus {
    const now = clock.now();
    if (job.spec.suspend) {
      const { startTime: _none, ...rest } = status;
      if (isTrue(status.conditions, "Suspended")) return rest;
      events.event({ ...jobType, ...job }, "Normal", "Suspended", "Job suspended");
      const condition = { type: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" };
      return { ...rest, conditions: withCondition(status.conditions, condition, now) };
    }
    const next = status.startTime ? status : { ...status, startTime: timestamp(now) };
    if (!isTrue(status.conditions, "Suspended")) return next;
    events.event({ ...jobType, ...job }, "Normal", "Resumed", "Job resumed");
    const condition = { type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" };
    return { ...next, startTime: timestamp(now), conditions: withCondition(status.conditions, condition, now) };
  }

  /** An end needs a beginning, also when it comes in sleep: by pods that were on their way out, unless there was nothing to do. */
  function begun(job: Job, status: JobStatus, mine: readonly Pod[]): JobStatus {
    if (status.startTime || job.spec.completions === 0) return status;
    const since = mine.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? "") || clock.now());
    return { ...status, startTime: timestamp(Math.min(clock.now(), ...since)) };
  }

  /** First that it is decided, then, when the last pod has ended and is counted, the end itself. */
  function concluded(job: Job, status: JobStatus, verdict: Verdict, isQuiet: boolean): JobStatus {
    const { reason, message } = verdict;
    const now = clock.now();
    const decided = verdict.outcome === "success" ? "SuccessCriteriaMet" : "FailureTarget";
    const conditions = withCondition(status.conditions, { type: decided, status: "True", reason, message }, now);
    if (!isQuiet) return { ...status, conditions };
    if (verdict.outcome === "success") {
      events.event({ ...jobType, ...job }, "Normal", "Completed", "Job completed");
      const condition = { type: "Complete", status: "True", reason, message };
      return { ...status, completionTime: timestamp(now), conditions: withCondition(conditions, condition, now) };
    }
    events.event({ ...jobType, ...job }, "Warning", reason, message);
    return {
      ...status,
      conditions: withCondition(conditions, { type: "Failed", status: "True", reason, message }, now),
    };
  }

  function counted(job: Job, status: JobStatus): JobStatus {
    const mine = pods.list(job.metadata.namespace ?? "").filter((pod) => controllerOf(pod)?.uid === job.metadata.uid);
    const { active: _old, ...rest } = status;
    const active = mine.filter(isActivePod);
    return {
      ...(active.length > 0 ? { active: active.length } : {}),
      ...rest,
      ready: active.filter(isReady).length,
      terminating: mine.filter(isTerminating).length,
    };
  }

  async function work(job: Job, mine: readonly Pod[], call: Call): Promise<number | undefined> {
    const step = trackingStep(job, mine);
    const verdict = judge(job, step.status, mine, clock.now());
    // A job that is decided is not put to sleep any more.
    let status = verdict && job.spec.suspend ? begun(job, step.status, mine) : started(job, step.status);
    let waitMs: number | undefined;
    let failure: unknown;
    if (verdict) {
      await deletePods(job, mine.filter(isActivePod), call);
    } else if (job.spec.suspend) {
      await removePods(job, mine.filter(isActivePod), call);
    } else {
      const plan = planPods(job, status, mine, clock.now());
      await removePods(job, plan.remove, call);
      const owner = { object: job, type: jobType };
      const made = await slowStart(plan.create.length, async (at) => {
        const wish = plan.create[at];
        await control.create(owner, jobPod(job, wish?.index, wish?.failures), call);
      });
      failure = made.error;
      waitMs = plan.waitMs;
    }
    status = counted(job, status);
    if (verdict) {
      const isCounted = Object.keys(status.uncountedTerminatedPods ?? {}).length === 0 && !mine.some(isTracked);
      const isQuiet = isCounted && !status.active && !status.terminating;
      status = concluded(job, status, verdict, isQuiet);
    }
    if (!(await writeStatus(client, resources.jobs, job, status, call))) return undefined;
    await removeFinalizers(step.release, call);
    if (failure) throw failure;
    const waits = [waitMs, msUntilDeadline(job, status, clock.now())].filter((wait) => wait !== undefined);
    return waits.length > 0 ? Math.max(1, Math.min(...waits)) : undefined;
  }

  return {
    name: "job",
    workers: 5,
    wakes: [
      { resource: resources.jobs, keys: (job: Job) => [keyOf(job)] },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...keysOf(pod), ...(previous ? keysOf(previous) : [])],
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const job = jobs.get(namespace, name);
      await removeFinalizers(orphans(namespace, name), call);
      if (!job || (job.spec.managedBy ?? managedHere) !== managedHere) return undefined;
      const selector = labelSelectorOf(job.spec.selector);
      const mine = await claim(
        pods.list(namespace),
        { client, resource: resources.pods, owner: job, ownerType: jobType, selector, finalizer: trackingFinalizer },
        call,
      );
      if (isFinished(job)) {
        await removeFinalizers(mine, call);
        return undefined;
      }
      if (job.metadata.deletionTimestamp) {
        await removeFinalizers(
          mine.filter((pod) => !isActivePod(pod)),
          call,
        );
        return undefined;
      }
      return work(job, mine, call);
    },
  };
};
