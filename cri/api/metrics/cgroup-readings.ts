// What control groups say about CPU, memory, pressure, huge pages and disks, either version, as readings of metrics.

import { readdirSync } from "node:fs";
import type { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import { memoryUsage, number, pairs, pressure } from "../cgroup-usage.ts";
import type { Reading } from "./families.ts";

/** Limits at or above this mean none: version 1 writes the largest multiple of a page. */
const noLimit = 1n << 62n;
const limitOf = (text: string | undefined) => {
  const value = number(text) ?? 0n;
  return value < noLimit ? value : 0n;
};

export function cpuReadings(cgroups: Cgroups, path: string): Reading[] {
  const isV2 = cgroups.version === 2;
  const stat = pairs(cgroups.read(path, "cpu", "cpu.stat"));
  const account = (file: string) => number(cgroups.read(path, "cpuacct", file));
  const microseconds = (key: string) => {
    const value = stat.get(key);
    return value === undefined ? undefined : value * 1000n;
  };
  const seconds = (nanoseconds: bigint | undefined) =>
    nanoseconds === undefined ? undefined : nanoseconds / 1_000_000_000n;
  const usage = isV2 ? microseconds("usage_usec") : account("cpuacct.usage");
  const user = isV2 ? microseconds("user_usec") : account("cpuacct.usage_user");
  const system = isV2 ? microseconds("system_usec") : account("cpuacct.usage_sys");
  const throttled = isV2 ? microseconds("throttled_usec") : stat.get("throttled_time");
  return [
    ["container_cpu_usage_seconds_total", seconds(usage), "total"],
    ["container_cpu_user_seconds_total", seconds(user)],
    ["container_cpu_system_seconds_total", seconds(system)],
    ["container_cpu_cfs_periods_total", stat.get("nr_periods")],
    ["container_cpu_cfs_throttled_periods_total", stat.get("nr_throttled")],
    ["container_cpu_cfs_throttled_seconds_total", seconds(throttled)],
    ...cpuLimits(cgroups, path),
  ];
}

function cpuLimits(cgroups: Cgroups, path: string): Reading[] {
  const read = (file: string) => cgroups.read(path, "cpu", file);
  if (cgroups.version === 1) {
    return [
      ["container_spec_cpu_period", number(read("cpu.cfs_period_us"))],
      ["container_spec_cpu_quota", number(read("cpu.cfs_quota_us"))],
      ["container_spec_cpu_shares", number(read("cpu.shares"))],
    ];
  }
  const [quota, period] = (read("cpu.max") ?? "").trim().split(" ");
  const weight = number(read("cpu.weight"));
  return [
    ["container_spec_cpu_period", number(period)],
    ["container_spec_cpu_quota", number(quota)],
    // The kernel's 1 to 10,000 back to the 2 to 262,144 that they were made from.
    ["container_spec_cpu_shares", weight === undefined ? undefined : 2n + ((weight - 1n) * 262_142n) / 9999n],
  ];
}

export function memoryReadings(cgroups: Cgroups, path: string): Reading[] {
  const isV2 = cgroups.version === 2;
  const read = (file: string) => cgroups.read(path, "memory", file);
  const stat = pairs(read("memory.stat"));
  const of = (v2: string, v1: string) => stat.get(isV2 ? v2 : v1) ?? 0n;
  const file = (v2: string, v1: string) => number(read(isV2 ? v2 : v1)) ?? 0n;
  const usage = memoryUsage(cgroups, path, 0n);
  const faults = (kind: "pgfault" | "pgmajfault", scope: "container" | "hierarchy"): Reading => [
    "container_memory_failures_total",
    of(kind, scope === "hierarchy" ? `total_${kind}` : kind),
    kind,
    scope,
  ];
  return [
    ["container_memory_usage_bytes", usage.usageBytes?.value],
    ["container_memory_working_set_bytes", usage.workingSetBytes?.value],
    ["container_memory_rss", usage.rssBytes?.value],
    ["container_memory_cache", of("file", "total_cache")],
    ["container_memory_mapped_file", of("file_mapped", "total_mapped_file")],
    ["container_memory_swap", isV2 ? file("memory.swap.current", "") : of("", "total_swap")],
    ["container_memory_kernel_usage", isV2 ? of("kernel", "") : file("", "memory.kmem.usage_in_bytes")],
    ["container_memory_max_usage_bytes", file("memory.peak", "memory.max_usage_in_bytes")],
    ["container_memory_failcnt", isV2 ? (pairs(read("memory.events")).get("max") ?? 0n) : file("", "memory.failcnt")],
    ...(["container", "hierarchy"] as const).flatMap((scope) => [
      faults("pgfault", scope),
      faults("pgmajfault", scope),
    ]),
    ["container_oom_events_total", cgroups.oomKills(path)],
    ["container_spec_memory_limit_bytes", limitOf(read(isV2 ? "memory.max" : "memory.limit_in_bytes"))],
    [
      "container_spec_memory_reservation_limit_bytes",
      limitOf(read(isV2 ? "memory.low" : "memory.soft_limit_in_bytes")),
    ],
    ["container_spec_memory_swap_limit_bytes", limitOf(read(isV2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes"))],
  ];
}

export function pressureReadings(cgroups: Cgroups, path: string): Reading[] {
  return (["cpu", "memory", "io"] as const).flatMap((kind): Reading[] => {
    const found = pressure(cgroups.read(path, kind, `${kind}.pressure`));
    if (!found) return [];
    const seconds = (total: bigint | undefined) => (total === undefined ? undefined : total / 1_000_000_000n);
    return [
      [`container_pressure_${kind}_waiting_seconds_total`, seconds(found.Some?.Total)],
      [`container_pressure_${kind}_stalled_seconds_total`, seconds(found.Full?.Total)],
    ];
  });
}

export function hugePageReadings(cgroups: Cgroups, path: string): Reading[] {
  const [current, peak] = cgroups.version === 2 ? ["current", "max"] : ["usage_in_bytes", "max_usage_in_bytes"];
  let files: string[];
  try {
    files = readdirSync(cgroups.folder(path, "hugetlb"));
  } catch {
    // No such controller here, or the group has just gone.
    return [];
  }
  return files.flatMap((name): Reading[] => {
    const size = new RegExp(`^hugetlb\\.(\\w+)\\.${current}$`).exec(name)?.[1];
    if (!size) return [];
    const read = (file: string) => number(cgroups.read(path, "hugetlb", `hugetlb.${size}.${file}`));
    const most: Reading[] =
      cgroups.version === 1 ? [["container_hugetlb_max_usage_bytes", read(peak as string), size]] : [];
    return [["container_hugetlb_usage_bytes", read(current as string), size], ...most];
  });
}

interface DiskCounters {
  readBytes: bigint;
  reads: bigint;
  writeBytes: bigint;
  writes: bigint;
}

export function diskReadings(cgroups: Cgroups, path: string): Reading[] {
  const devices = cgroups.version === 2 ? countersV2(cgroups, path) : countersV1(cgroups, path);
  return [...devices].flatMap(([numbers, counters]): Reading[] => {
    const [major = "", minor = ""] = numbers.split(":");
    return [
      ["container_blkio_device_usage_total", counters.readBytes, numbers, major, minor, "Read"],
      ["container_blkio_device_usage_total", counters.writeBytes, numbers, major, minor, "Write"],
      ["container_fs_reads_bytes_total", counters.readBytes, numbers],
      ["container_fs_reads_total", counters.reads, numbers],
      ["container_fs_writes_bytes_total", counters.writeBytes, numbers],
      ["container_fs_writes_total", counters.writes, numbers],
    ];
  });
}

/** `8:0 rbytes=1 wbytes=2 rios=3 wios=4 …` */
function countersV2(cgroups: Cgroups, path: string): Map<string, DiskCounters> {
  const found = new Map<string, DiskCounters>();
  for (const line of (cgroups.read(path, "io", "io.stat") ?? "").split("\n")) {
    const [numbers, ...words] = line.trim().split(" ");
    const of = (key: string) => BigInt(words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1) ?? 0);
    if (numbers && words.length > 0)
      found.set(numbers, { readBytes: of("rbytes"), reads: of("rios"), writeBytes: of("wbytes"), writes: of("wios") });
  }
  return found;
}

/** `8:0 Read 123` */
function countersV1(cgroups: Cgroups, path: string): Map<string, DiskCounters> {
  const found = new Map<string, DiskCounters>();
  const take = (file: string, read: "readBytes" | "reads", write: "writeBytes" | "writes") => {
    for (const line of (cgroups.read(path, "blkio", file) ?? "").split("\n")) {
      const [numbers = "", operation, value] = line.trim().split(" ");
      if (!numbers.includes(":") || !value) continue;
      const counters = found.get(numbers) ?? { readBytes: 0n, reads: 0n, writeBytes: 0n, writes: 0n };
      if (operation === "Read") counters[read] = BigInt(value);
      if (operation === "Write") counters[write] = BigInt(value);
      found.set(numbers, counters);
    }
  };
  take("blkio.throttle.io_service_bytes", "readBytes", "writeBytes");
  take("blkio.throttle.io_serviced", "reads", "writes");
  return found;
}
