// CRI's resources as the OCI specification has them. Pure.

import type { LinuxContainerResources } from "../../api/gen/runtime.js";
import type { OciResources } from "./oci-spec.ts";

export interface CgroupFacts {
  readonly cgroupVersion: 1 | 2;
  /** Controllers that the kernel offers. A limit without its controller is left out: a container without it is better than none. */
  readonly controllers: ReadonlySet<string>;
}

export function toOciResources(resources: LinuxContainerResources | undefined, facts: CgroupFacts): OciResources {
  if (!resources) return {};
  const has = (controller: string) => facts.controllers.has(controller);
  const result: OciResources = {};
  const cpu: NonNullable<OciResources["cpu"]> = {};
  if (has("cpu")) {
    if (resources.cpuShares > 0n) cpu.shares = Number(resources.cpuShares);
    if (resources.cpuQuota !== 0n) cpu.quota = Number(resources.cpuQuota);
    if (resources.cpuPeriod > 0n) cpu.period = Number(resources.cpuPeriod);
  }
  if (has("cpuset")) {
    if (resources.cpusetCpus) cpu.cpus = resources.cpusetCpus;
    if (resources.cpusetMems) cpu.mems = resources.cpusetMems;
  }
  if (Object.keys(cpu).length > 0) result.cpu = cpu;
  if (has("memory") && resources.memoryLimitInBytes !== 0n) {
    result.memory = { limit: Number(resources.memoryLimitInBytes) };
    if (resources.memorySwapLimitInBytes !== 0n) result.memory.swap = Number(resources.memorySwapLimitInBytes);
  }
  const pages = resources.hugepageLimits.map(({ pageSize, limit }) => ({ pageSize, limit: Number(limit) }));
  if (has("hugetlb") && pages.length > 0) result.hugepageLimits = pages;
  const unified = Object.entries(resources.unified).filter(([key]) => has(key.split(".", 1)[0] as string));
  if (facts.cgroupVersion === 2 && unified.length > 0) result.unified = Object.fromEntries(unified);
  return result;
}

/** What a change asks for over what was there: zero and empty keep the old value. */
export function mergeResources(
  before: LinuxContainerResources | undefined,
  change: LinuxContainerResources,
): LinuxContainerResources {
  if (!before) return change;
  return {
    cpuPeriod: change.cpuPeriod || before.cpuPeriod,
    cpuQuota: change.cpuQuota || before.cpuQuota,
    cpuShares: change.cpuShares || before.cpuShares,
    memoryLimitInBytes: change.memoryLimitInBytes || before.memoryLimitInBytes,
    memorySwapLimitInBytes: change.memorySwapLimitInBytes || before.memorySwapLimitInBytes,
    oomScoreAdj: change.oomScoreAdj || before.oomScoreAdj,
    cpusetCpus: change.cpusetCpus || before.cpusetCpus,
    cpusetMems: change.cpusetMems || before.cpusetMems,
    hugepageLimits: change.hugepageLimits.length > 0 ? change.hugepageLimits : before.hugepageLimits,
    unified: { ...before.unified, ...change.unified },
  };
}
