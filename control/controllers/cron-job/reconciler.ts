// CronJob: starts a job at each moment of its schedule, at most once, as its concurrency policy allows.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { timestamp } from "../../manager/conditions.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerOf, isControlledBy, keyOf, splitKey } from "../../manager/owners.ts";
import { writeStatus } from "../../manager/write-status.ts";
import { conditionOf, isFinished, type Job } from "../job/objects.ts";
import { beyondHistory } from "./history.ts";
import { type CronJob, type CronJobStatus, cronJobType, jobFor, jobNameFor, referenceTo } from "./objects.ts";
import { latestWithin, parseSchedule, type Schedule } from "./schedule.ts";

/** The wall clock may be set while we wait, as after a start without network: never trust a long wait. */
const longestWaitMs = 60_000;

/** More than these in a row are hardly an accident. */
const manyMissed = 100;

/** As in the head of a mail, which is how upstream writes it. */
const mailTime = (at: number) => new Date(at).toUTCString().replace("GMT", "+0000");

export const cronJobController: ControllerFactory = ({ client, informers, events, clock }) => {
  const crons = informers.for<CronJob>(resources.cronjobs);
  const jobs = informers.for<Job>(resources.jobs);
  /** The warning that was told last, by uid: once is enough. */
  const told = new Map<string, string>();
  /** Jobs that we took away ourselves, by uid, until the status does not name them any more: they are not missing. */
  const removed = new Set<string>();
  const tell = (cron: CronJob, type: "Normal" | "Warning", reason: string, message: string) =>
    events.event({ ...cronJobType, ...cron }, type, reason, message);
  /** A warning that stands for as long as the moment is the same. */
  function warnOnce(cron: CronJob, at: number, reason: string, message: string): void {
    const { uid = "" } = cron.metadata;
    if (told.get(uid) === `${reason} ${at}`) return;
    told.set(uid, `${reason} ${at}`);
    tell(cron, "Warning", reason, message);
  }

  async function remove(cron: CronJob, job: Job, call: Call): Promise<void> {
    const { namespace = "", name = "", uid = "" } = job.metadata;
    const options = { propagationPolicy: "Background" as const, preconditions: { uid } };
    try {
      await client.delete(resources.jobs, { namespace, name }, call, options);
      if (cron.status?.active?.some((reference) => reference.uid === uid)) removed.add(uid);
      tell(cron, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  function scheduleOf(cron: CronJob): Schedule | undefined {
    try {
      const schedule = parseSchedule(cron.spec.schedule, cron.spec.timeZone);
      if (schedule.next(clock.now()) !== undefined) return schedule;
      tell(cron, "Warning", "InvalidSchedule", `invalid schedule: ${cron.spec.schedule} : it never comes`);
    } catch (error) {
      const { message } = toFault(error, "schedule");
      tell(cron, "Warning", "UnparseableSchedule", `unparseable schedule: "${cron.spec.schedule}" : ${message}`);
    }
    return undefined;
  }

  const mineOf = (cron: CronJob) => jobs.list(cron.metadata.namespace ?? "").filter((job) => isControlledBy(job, cron));

  /** Starts what is due. The answer is the moment that is dealt with now, or undefined. */
  async function startDue(
    cron: CronJob,
    schedule: Schedule,
    mine: readonly Job[],
    call: Call,
  ): Promise<number | undefined> {
    const now = clock.now();
    const { startingDeadlineSeconds: deadline, concurrencyPolicy } = cron.spec;
    const last = Date.parse(cron.status?.lastScheduleTime ?? cron.metadata.creationTimestamp ?? "") || now;
    const since = deadline === undefined || deadline === null ? last : Math.max(last, now - deadline * 1000);
    const due = latestWithin(schedule, since, now);
    if (!due) {
      const missed = since > last ? latestWithin(schedule, last, since) : undefined;
      if (missed)
        warnOnce(cron, missed.at, "MissSchedule", `Missed scheduled time to start a job: ${mailTime(missed.at)}`);
      return undefined;
    }
    if (due.count > manyMissed) {
      const fix = "Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      warnOnce(cron, due.at, "TooManyMissedTimes", `too many missed start times. ${fix}`);
    }
    const active = mine.filter((job) => !isFinished(job));
    if (mine.some((job) => job.metadata.name === jobNameFor(cron, due.at))) return due.at;
    if (active.length > 0 && concurrencyPolicy === "Forbid") {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      tell(cron, "Normal", "JobAlreadyActive", message);
      return undefined;
    }
    if (concurrencyPolicy === "Replace") for (const job of active) await remove(cron, job, call);
    try {
      const made = await client.create<Job>(resources.jobs, jobFor(cron, due.at), call, {
        namespace: cron.metadata.namespace ?? "",
      });
      tell(cron, "Normal", "SuccessfulCreate", `Created job ${made.metadata.name}`);
    } catch (error) {
      if (!isFault(error, "already-exists")) {
        tell(cron, "Warning", "FailedCreate", `Error creating job: ${toFault(error, "create job").message}`);
        throw error;
      }
    }
    return due.at;
  }

  function statusOf(cron: CronJob, mine: readonly Job[], scheduled: number | undefined): CronJobStatus {
    const active = mine.filter((job) => !isFinished(job) && !removed.has(job.metadata.uid ?? ""));
    const present = new Set(mine.map((job) => job.metadata.uid));
    const known = new Map(cron.status?.active?.map((reference) => [reference.uid, reference]));
    for (const job of mine) {
      const end = conditionOf(job, "Complete") ?? conditionOf(job, "Failed");
      if (end && known.has(job.metadata.uid ?? ""))
        tell(cron, "Normal", "SawCompletedJob", `Saw completed job: ${job.metadata.name}, condition: ${end.type}`);
    }
    for (const { uid = "", name } of known.values()) {
      if (!present.has(uid) && !removed.has(uid))
        tell(cron, "Normal", "MissingJob", `Active job went missing: ${name}`);
      removed.delete(uid);
    }
    const successes = mine.flatMap((job) => (conditionOf(job, "Complete") ? [job.status?.completionTime ?? ""] : []));
    const lastSuccess = [cron.status?.lastSuccessfulTime ?? "", ...successes].sort((a, b) => (a < b ? -1 : 1)).at(-1);
    const lastScheduleTime = scheduled === undefined ? cron.status?.lastScheduleTime : timestamp(scheduled);
    return {
      ...(active.length > 0
        ? { active: active.map((job) => known.get(job.metadata.uid ?? "") ?? referenceTo(job)) }
        : {}),
      ...(lastScheduleTime ? { lastScheduleTime } : {}),
      ...(lastSuccess ? { lastSuccessfulTime: lastSuccess } : {}),
    };
  }

  return {
    name: "cronjob",
    workers: 5,
    wakes: [
      {
        resource: resources.cronjobs,
        keys: (cron: CronJob) => {
          if (!crons.get(cron.metadata.namespace ?? "", cron.metadata.name ?? "")) told.delete(cron.metadata.uid ?? "");
          return [keyOf(cron)];
        },
      },
      {
        resource: resources.jobs,
        keys: (job: Job) => {
          const owner = controllerOf(job);
          return owner?.kind === "CronJob" ? [`${job.metadata.namespace}/${owner.name}`] : [];
        },
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const cron = crons.get(namespace, name);
      if (!cron) return undefined;
      for (const job of beyondHistory(cron, mineOf(cron))) await remove(cron, job, call);
      const mayStart = !cron.metadata.deletionTimestamp && !cron.spec.suspend;
      const schedule = mayStart ? scheduleOf(cron) : undefined;
      const scheduled = schedule ? await startDue(cron, schedule, mineOf(cron), call) : undefined;
      await writeStatus(client, resources.cronjobs, cron, statusOf(cron, mineOf(cron), scheduled), call);
      const next = schedule?.next(clock.now());
      return next === undefined ? undefined : Math.min(longestWaitMs, Math.max(1, next - clock.now() + 100));
    },
  };
};
