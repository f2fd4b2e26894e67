// What a control group of version 2 uses.

import type { Clock } from "../kit/base/clock.ts";
import type { Cgroups } from "../kit/os/platform/cgroups.ts";
import { pressureIn } from "../kit/os/pressure.ts";
import type { CgroupSample, CpuSample, MemorySample, StatsSource } from "../kit/contracts/stats-source.ts";
import { lineCount, numberIn, pairsIn } from "./flat-file.ts";

type Read = (file: string) => string | undefined;

export function cgroupV2Source(cgroups: Cgroups, clock: Clock, hasPressure: boolean): StatsSource {
  return {
    name: "cgroup-v2",
    claim: () => (cgroups.version === 2 ? "mine" : "pass"),
    async sample(cgroup) {
      const read: Read = (file) => cgroups.read(cgroup, "", file);
      const cpu = cpuOf(read);
      const memory = memoryOf(read);
      const threads = numberIn(read("pids.current"));
      const pressure = hasPressure ? pressureOf(read) : undefined;
      const io = ioOf(read("io.stat"));
      return {
        at: clock.now(),
        ...(cpu ? { cpu } : {}),
        ...(memory ? { memory } : {}),
        processes: lineCount(read("cgroup.procs")),
        ...(threads === undefined ? {} : { threads }),
        ...(io ? { io } : {}),
        ...(pressure ? { pressure } : {}),
      };
    },
  };
}

function cpuOf(read: Read): CpuSample | undefined {
  const stat = pairsIn(read("cpu.stat"));
  const usage = stat.get("usage_usec");
  if (usage === undefined) return undefined;
  const ns = (key: string) => BigInt(stat.get(key) ?? 0) * 1000n;
  return {
    usageNs: BigInt(usage) * 1000n,
    userNs: ns("user_usec"),
    systemNs: ns("system_usec"),
    periods: stat.get("nr_periods") ?? 0,
    throttledPeriods: stat.get("nr_throttled") ?? 0,
    throttledNs: ns("throttled_usec"),
  };
}

function memoryOf(read: Read): MemorySample | undefined {
  const usageBytes = numberIn(read("memory.current"));
  if (usageBytes === undefined) return undefined;
  const stat = pairsIn(read("memory.stat"));
  const events = pairsIn(read("memory.events"));
  const limitBytes = numberIn(read("memory.max"));
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - (stat.get("inactive_file") ?? 0)),
    rssBytes: stat.get("anon") ?? 0,
    cacheBytes: stat.get("file") ?? 0,
    swapBytes: numberIn(read("memory.swap.current")) ?? 0,
    pageFaults: stat.get("pgfault") ?? 0,
    majorPageFaults: stat.get("pgmajfault") ?? 0,
    failures: events.get("max") ?? 0,
    oomKills: events.get("oom_kill") ?? 0,
    maxUsageBytes: numberIn(read("memory.peak")) ?? 0,
    mappedFileBytes: stat.get("file_mapped") ?? 0,
    activeFileBytes: stat.get("active_file") ?? 0,
    inactiveFileBytes: stat.get("inactive_file") ?? 0,
    kernelBytes: stat.get("kernel") ?? 0,
    dirtyFileBytes: stat.get("file_dirty") ?? 0,
    writebackBytes: stat.get("file_writeback") ?? 0,
    ...(limitBytes === undefined ? {} : { limitBytes }),
  };
}

/** `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`, a line per device. */
function ioOf(text: string | undefined): CgroupSample["io"] {
  if (text === undefined) return undefined;
  return text.split("\n").flatMap((line) => {
    const [device = "", ...fields] = line.split(" ");
    if (fields.length === 0) return [];
    const counters = new Map(fields.map((field) => field.split("=") as [string, string]));
    const of = (key: string) => Number(counters.get(key) ?? 0);
    return [{ device, readBytes: of("rbytes"), writeBytes: of("wbytes"), reads: of("rios"), writes: of("wios") }];
  });
}

function pressureOf(read: Read): CgroupSample["pressure"] {
  const found: NonNullable<CgroupSample["pressure"]> = {};
  for (const kind of ["cpu", "memory", "io"] as const) {
    const pressure = pressureIn(read(`${kind}.pressure`));
    if (pressure) found[kind] = pressure;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}
