// CRI's resources in the daemon's words. Pure.

import type { LinuxContainerResources } from "../../api/gen/runtime.js";
import type { HostResources } from "../engine/types.ts";

/** Only what is told: zero and empty are left to the daemon, or as they are. */
export function toHostResources(resources: LinuxContainerResources | undefined): Partial<HostResources> {
  if (!resources) return {};
  const { cpuShares, cpuPeriod, cpuQuota, cpusetCpus, cpusetMems, memoryLimitInBytes, memorySwapLimitInBytes } =
    resources;
  return {
    ...(cpuShares > 0n ? { CpuShares: Number(cpuShares) } : {}),
    ...(cpuPeriod > 0n ? { CpuPeriod: Number(cpuPeriod) } : {}),
    ...(cpuQuota !== 0n ? { CpuQuota: Number(cpuQuota) } : {}),
    ...(cpusetCpus ? { CpusetCpus: cpusetCpus } : {}),
    ...(cpusetMems ? { CpusetMems: cpusetMems } : {}),
    // Left out, the daemon would allow as much swap again.
    ...(memoryLimitInBytes > 0n
      ? { Memory: Number(memoryLimitInBytes), MemorySwap: Number(memorySwapLimitInBytes || memoryLimitInBytes) }
      : {}),
  };
}
