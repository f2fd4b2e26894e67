// The StatsSource contract: tells what a cgroup uses. The first source that claims a cgroup samples it.

import type { Call } from "../base/call.ts";
import { type Kind, kind } from "../base/plugin.ts";
import type { Pressure } from "../os/pressure.ts";

export interface CpuSample {
  usageNs: bigint;
  userNs?: bigint;
  systemNs?: bigint;
  throttledPeriods?: number;
  periods?: number;
  throttledNs?: bigint;
}

export interface MemorySample {
  usageBytes: number;
  workingSetBytes: number;
  rssBytes: number;
  cacheBytes?: number;
  swapBytes?: number;
  limitBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
  failures?: number;
  oomKills?: number;
  /** The most that was ever used. */
  maxUsageBytes?: number;
  mappedFileBytes?: number;
  activeFileBytes?: number;
  inactiveFileBytes?: number;
  kernelBytes?: number;
  dirtyFileBytes?: number;
  writebackBytes?: number;
}

export interface CgroupSample {
  /** Wall time in milliseconds. */
  at: number;
  cpu?: CpuSample;
  memory?: MemorySample;
  processes?: number;
  threads?: number;
  io?: { device: string; readBytes: number; writeBytes: number; reads: number; writes: number }[];
  /** Pressure stall information where the kernel has it: averages in percent, total in microseconds. */
  pressure?: Partial<Record<"cpu" | "memory" | "io", Pressure>>;
}

export interface StatsSource {
  readonly name: string;
  claim(cgroup: string): "mine" | "ignore" | "pass";
  sample(cgroup: string, call: Call): Promise<CgroupSample>;
}

export const statsKind: Kind<StatsSource> = kind("stats");
