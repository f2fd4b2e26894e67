// What a control group of version 1 uses; each controller has a hierarchy of its own, also in hybrid mode.

import type { Clock } from "../kit/base/clock.ts";
import type { Cgroups } from "../kit/os/platform/cgroups.ts";
import type { CgroupSample, CpuSample, MemorySample, StatsSource } from "../kit/contracts/stats-source.ts";
import { lineCount, numberIn, pairsIn } from "./flat-file.ts";

type Read = (controller: string, file: string) => string | undefined;

/** Limits at or above this mean none: the kernel writes the largest multiple of a page. */
const noLimit = 2 ** 62;

export function cgroupV1Source(cgroups: Cgroups, clock: Clock): StatsSource {
  return {
    name: "cgroup-v1",
    claim: () => (cgroups.version === 1 ? "mine" : "pass"),
    async sample(cgroup) {
      const read: Read = (controller, file) => cgroups.read(cgroup, controller, file);
      const cpu = cpuOf(read);
      const memory = memoryOf(read);
      const threads = numberIn(read("pids", "pids.current"));
      const io = ioOf(read("blkio", "blkio.throttle.io_service_bytes"), read("blkio", "blkio.throttle.io_serviced"));
      return {
        at: clock.now(),
        ...(cpu ? { cpu } : {}),
        ...(memory ? { memory } : {}),
        processes: lineCount(read("memory", "cgroup.procs") ?? read("cpuacct", "cgroup.procs")),
        ...(threads === undefined ? {} : { threads }),
        ...(io ? { io } : {}),
      };
    },
  };
}

function cpuOf(read: Read): CpuSample | undefined {
  const usage = numberIn(read("cpuacct", "cpuacct.usage"));
  if (usage === undefined) return undefined;
  const stat = pairsIn(read("cpu", "cpu.stat"));
  const ns = (file: string) => BigInt(numberIn(read("cpuacct", file)) ?? 0);
  return {
    usageNs: BigInt(usage),
    userNs: ns("cpuacct.usage_user"),
    systemNs: ns("cpuacct.usage_sys"),
    periods: stat.get("nr_periods") ?? 0,
    throttledPeriods: stat.get("nr_throttled") ?? 0,
    throttledNs: BigInt(stat.get("throttled_time") ?? 0),
  };
}

function memoryOf(read: Read): MemorySample | undefined {
  const usageBytes = numberIn(read("memory", "memory.usage_in_bytes"));
  if (usageBytes === undefined) return undefined;
  const stat = pairsIn(read("memory", "memory.stat"));
  const of = (key: string) => stat.get(`total_${key}`) ?? stat.get(key) ?? 0;
  const limitBytes = numberIn(read("memory", "memory.limit_in_bytes"));
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - of("inactive_file")),
    rssBytes: of("rss"),
    cacheBytes: of("cache"),
    swapBytes: of("swap"),
    pageFaults: of("pgfault"),
    majorPageFaults: of("pgmajfault"),
    failures: numberIn(read("memory", "memory.failcnt")) ?? 0,
    oomKills: pairsIn(read("memory", "memory.oom_control")).get("oom_kill") ?? 0,
    maxUsageBytes: numberIn(read("memory", "memory.max_usage_in_bytes")) ?? 0,
    mappedFileBytes: of("mapped_file"),
    activeFileBytes: of("active_file"),
    inactiveFileBytes: of("inactive_file"),
    kernelBytes: numberIn(read("memory", "memory.kmem.usage_in_bytes")) ?? 0,
    dirtyFileBytes: of("dirty"),
    writebackBytes: of("writeback"),
    ...(limitBytes === undefined || limitBytes >= noLimit ? {} : { limitBytes }),
  };
}

/** `8:0 Read 4096`, a line per device and direction, with a total at the end. */
function ioOf(bytes: string | undefined, operations: string | undefined): CgroupSample["io"] {
  if (bytes === undefined) return undefined;
  const devices = new Map<string, NonNullable<CgroupSample["io"]>[number]>();
  const add = (text: string, read: "readBytes" | "reads", write: "writeBytes" | "writes") => {
    for (const [, device = "", direction, count] of text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm)) {
      const entry = devices.get(device) ?? { device, readBytes: 0, writeBytes: 0, reads: 0, writes: 0 };
      entry[direction === "Read" ? read : write] = Number(count);
      devices.set(device, entry);
    }
  };
  add(bytes, "readBytes", "writeBytes");
  add(operations ?? "", "reads", "writes");
  return [...devices.values()];
}
