// What a container may use, in the kernel's units: shares, quota, memory, huge pages and the score of the out-of-memory killer.

import type { LinuxContainerResources } from "../../cri/api/gen/runtime.js";
import { LinuxContainerResources as Resources } from "../../cri/api/gen/runtime.js";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityMilli, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import type { ObservedResources } from "../model/observed.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { qosClassOf } from "../model/qos.ts";

const period = 100_000n;
const smallestQuota = 1_000n;
const smallestShares = 2n;
const largestShares = 262_144n;

export interface ResourceFacts {
  readonly memoryCapacityBytes: bigint;
  readonly cgroupVersion: 1 | 2;
  /** False on hosts whose kernel has no memory controller: limits are left out there. */
  readonly hasMemoryController: boolean;
  /** Whether a container can be kept from swapping that has no memory limit. */
  readonly hasSwapController: boolean;
}

export function sharesOf(milliCpu: bigint): bigint {
  if (milliCpu <= 0n) return smallestShares;
  const shares = (milliCpu * 1024n) / 1000n;
  return shares < smallestShares ? smallestShares : shares > largestShares ? largestShares : shares;
}

function quotaOf(milliCpu: bigint): bigint {
  if (milliCpu <= 0n) return 0n;
  const quota = (milliCpu * period) / 1000n;
  return quota < smallestQuota ? smallestQuota : quota;
}

function milli(text: string | number | undefined): bigint {
  return text === undefined ? 0n : quantityMilli(parseQuantity(text));
}

function bytes(text: string | number | undefined): bigint {
  return text === undefined ? 0n : quantityValue(parseQuantity(text));
}

export function containerResources(pod: AgentPod, container: Container, facts: ResourceFacts): LinuxContainerResources {
  const { limits = {}, requests = {} } = container.resources ?? {};
  const cpuLimit = milli(limits["cpu"]);
  // A limit without a request is the request too.
  const cpuRequest = requests["cpu"] === undefined && limits["cpu"] !== undefined ? cpuLimit : milli(requests["cpu"]);
  const memoryLimit = facts.hasMemoryController ? bytes(limits["memory"]) : 0n;
  const quota = quotaOf(cpuLimit);
  const isV2 = facts.cgroupVersion === 2;
  return Resources.create({
    cpuShares: sharesOf(cpuRequest),
    cpuQuota: quota,
    cpuPeriod: period,
    memoryLimitInBytes: memoryLimit,
    // No swap beyond the limit; only the second cgroup version has a controller for it everywhere.
    memorySwapLimitInBytes: isV2 ? memoryLimit : 0n,
    oomScoreAdj: BigInt(oomScoreAdj(pod, container, facts.memoryCapacityBytes)),
    hugepageLimits: hugepages(limits),
    unified: isV2 && facts.hasMemoryController ? unified(facts) : {},
  });
}

/** All processes of a container die together when it runs out of memory; none swaps, as with upstream's default (`NoSwap`). */
function unified({ hasSwapController }: ResourceFacts): Record<string, string> {
  return { "memory.oom.group": "1", ...(hasSwapController ? { "memory.swap.max": "0" } : {}) };
}

/** The part of them that a resize compares. */
export function comparableResources(pod: AgentPod, container: Container, facts: ResourceFacts): ObservedResources {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes } = containerResources(pod, container, facts);
  return {
    cpuShares: Number(cpuShares),
    cpuQuota: Number(cpuQuota),
    cpuPeriod: Number(cpuPeriod),
    memoryLimitBytes: Number(memoryLimitInBytes),
  };
}

function hugepages(limits: Record<string, string | number>): { pageSize: string; limit: bigint }[] {
  return Object.entries(limits)
    .filter(([name]) => name.startsWith("hugepages-"))
    .map(([name, value]) => ({ pageSize: pageSizeName(bytes(name.slice("hugepages-".length))), limit: bytes(value) }));
}

/** As the kernel's control files spell it: 2MB, 1GB. */
function pageSizeName(size: bigint): string {
  if (size >= 1n << 30n) return `${size >> 30n}GB`;
  if (size >= 1n << 20n) return `${size >> 20n}MB`;
  return `${size >> 10n}KB`;
}

const guaranteedScore = -997;
const bestEffortScore = 1000;

/** Guaranteed and node-critical pods last, best effort first, burstable by how much memory they asked for. */
function oomScoreAdj(pod: AgentPod, container: Container, memoryCapacityBytes: bigint): number {
  if ((pod.spec.priority ?? 0) >= 2_000_000_000) return guaranteedScore;
  const qos = qosClassOf(pod.spec);
  if (qos === "Guaranteed") return guaranteedScore;
  if (qos === "BestEffort") return bestEffortScore;
  const { requests, limits } = container.resources ?? {};
  const request = bytes(requests?.["memory"] ?? limits?.["memory"]);
  if (memoryCapacityBytes <= 0n) return bestEffortScore - 1;
  const score = 1000 - Number((1000n * request) / memoryCapacityBytes);
  const lowest = 1000 + guaranteedScore;
  if (score < lowest) return lowest;
  return score === bestEffortScore ? score - 1 : score;
}

/** Sums over the pod for its cgroup and its sandbox: regular containers and sidecars together, or the largest init container. */
export function podResourceSum(pod: AgentPod, list: "requests" | "limits", name: "cpu" | "memory"): bigint {
  const read = (container: Container): bigint => {
    const text =
      container.resources?.[list]?.[name] ?? (list === "requests" ? container.resources?.limits?.[name] : undefined);
    return name === "cpu" ? milli(text) : bytes(text);
  };
  let sidecars = 0n;
  let peak = 0n;
  for (const container of pod.spec.initContainers ?? []) {
    const own = read(container);
    if (container.restartPolicy === "Always") sidecars += own;
    else if (sidecars + own > peak) peak = sidecars + own;
  }
  const regular = pod.spec.containers.reduce((sum, container) => sum + read(container), sidecars);
  const whole = pod.spec.resources?.[list]?.[name];
  const sum = whole === undefined ? (regular > peak ? regular : peak) : name === "cpu" ? milli(whole) : bytes(whole);
  const overhead = pod.spec.overhead?.[name];
  return sum + (overhead === undefined ? 0n : name === "cpu" ? milli(overhead) : bytes(overhead));
}

export interface PodLimits {
  readonly cpuShares: bigint;
  /** 0 where some container has no limit: the pod as a whole has none then. */
  readonly cpuQuota: bigint;
  readonly memoryBytes: bigint;
}

/** What the pod's own cgroup says: the sum of its containers, and a limit only where every container has one. */
export function podLimits(pod: AgentPod): PodLimits {
  const declares = (name: "cpu" | "memory") =>
    pod.spec.resources?.limits?.[name] !== undefined ||
    pod.spec.containers.every((container) => container.resources?.limits?.[name] !== undefined);
  return {
    cpuShares: sharesOf(podResourceSum(pod, "requests", "cpu")),
    cpuQuota: declares("cpu") ? quotaOf(podResourceSum(pod, "limits", "cpu")) : 0n,
    memoryBytes: declares("memory") ? podResourceSum(pod, "limits", "memory") : 0n,
  };
}
