// TTL after finished: deletes a finished job when the time it asked for has passed.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { conditionOf, type Job } from "../job/objects.ts";

export const ttlAfterFinishedController: ControllerFactory = ({ client, informers, clock }) => {
  const jobs = informers.for<Job>(resources.jobs);
  return {
    name: "ttl-after-finished",
    wakes: [{ resource: resources.jobs, keys: (job: Job) => (msToLive(job, 0) === undefined ? [] : [keyOf(job)]) }],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const job = jobs.get(namespace, name);
      const left = job && msToLive(job, clock.now());
      if (!job || left === undefined || job.metadata.deletionTimestamp) return undefined;
      if (left > 0) return left;
      const { uid = "" } = job.metadata;
      const options = { propagationPolicy: "Foreground" as const, preconditions: { uid } };
      try {
        await client.delete(resources.jobs, { namespace, name }, call, options);
      } catch (error) {
        if (!isFault(error, "not-found", "conflict")) throw error;
      }
      return undefined;
    },
  };
};

/** Milliseconds that a finished job may still stay; undefined when it may stay for ever, or is not finished. */
function msToLive(job: Job, now: number): number | undefined {
  const end = conditionOf(job, "Complete") ?? conditionOf(job, "Failed");
  const seconds = job.spec.ttlSecondsAfterFinished;
  if (!end || seconds === undefined || seconds === null) return undefined;
  return Math.max(0, Date.parse(end.lastTransitionTime ?? "") + seconds * 1000 - now);
}
