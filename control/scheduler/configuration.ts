// The scheduler's configuration, in the form that kube-scheduler reads, or as a policy file of the early days. What only concerns a
// process of its own (its leases, connections and ports) is taken and has no effect; what cannot be done here is refused.

import * as check from "../../plugins/kit/base/config-check.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { QueueSortPlugin } from "../../plugins/kit/contracts/scheduling.ts";
import { configurationFromPolicy, isPolicy } from "./policy.ts";
import { extendersFrom, extendersShape } from "./extender-config.ts";
import type { Extender } from "./extender.ts";
import { type Available, defaultProfile, type Profile } from "./profile.ts";
import { profileShape, profilesFrom } from "./profiles.ts";
import { queueSortOf } from "./queue-order.ts";

export interface SchedulerConfiguration {
  readonly profiles: readonly Profile[];
  /** Programs elsewhere that are asked too, in this order. */
  readonly extenders?: readonly Extender[];
  /** Which waiting pod comes first; by priority and age when absent. */
  readonly queueSort?: QueueSortPlugin;
  /** How long a pod that was refused waits at first, and at most. */
  readonly initialBackoffMs?: number;
  readonly maxBackoffMs?: number;
}

const anything: check.Check<unknown> = (raw) => raw;
const seconds = check.optional(check.integer({ min: 1, max: 86_400 }));
const percentage = check.optional(check.integer({ min: 0, max: 100 }));
const ofAProcess = {
  clientConnection: anything,
  leaderElection: anything,
  enableProfiling: anything,
  enableContentionProfiling: anything,
  healthzBindAddress: anything,
  metricsBindAddress: anything,
  parallelism: anything,
  delayCacheUntilActive: anything,
};
const shape = {
  apiVersion: check.optional(check.string),
  kind: check.optional(check.oneOf("KubeSchedulerConfiguration")),
  profiles: check.optional(check.listOf(profileShape)),
  percentageOfNodesToScore: percentage,
  podInitialBackoffSeconds: seconds,
  podMaxBackoffSeconds: seconds,
  extenders: extendersShape,
  ...ofAProcess,
};

/** Without a document there is a single profile of everything; Fault `invalid` names what is wrong in one. */
export function configurationFrom(raw: unknown, available: Available, where: string): SchedulerConfiguration {
  if (raw === undefined) return { profiles: [defaultProfile(available)] };
  if (isPolicy(raw)) return configurationFromPolicy(raw, available, where);
  const { profiles, percentageOfNodesToScore, ...config } = check.checkSettings(raw, shape, where);
  const { podInitialBackoffSeconds: initial, podMaxBackoffSeconds: most } = config;
  if ((initial ?? 1) > (most ?? 10))
    throw new Fault("invalid", `${where}.podMaxBackoffSeconds must be at least podInitialBackoffSeconds`);
  const { extenders, ignoredResources } = extendersFrom(config.extenders, `${where}.extenders`);
  const queueSort = queueSortOf(profiles ?? [], available, where);
  return {
    profiles: profilesFrom(profiles ?? [{}], { available, where, percentageOfNodesToScore, ignoredResources }),
    ...(extenders.length === 0 ? {} : { extenders }),
    ...(queueSort ? { queueSort } : {}),
    ...(initial === undefined ? {} : { initialBackoffMs: initial * 1000 }),
    ...(most === undefined ? {} : { maxBackoffMs: most * 1000 }),
  };
}
