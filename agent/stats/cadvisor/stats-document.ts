// A sample as cAdvisor's documents write it: one form in version 1, the same with other frames in version 2.

import { readFileSync } from "node:fs";
import type { CgroupSample } from "../../../plugins/kit/contracts/stats-source.ts";
import type { InterfaceCounters } from "../net-dev.ts";
import { psiOf } from "../summary.ts";
import type { Point } from "./containers.ts";

/** Milliseconds since 1970 as upstream writes times. */
export const timeOf = (ms: number) => new Date(ms).toISOString();

/** Version 1's ContainerStats; `filesystem` is known for the newest point alone. */
export function statsDocument({ sample, network, tasks }: Point, filesystem: readonly object[] = []): object {
  return {
    timestamp: timeOf(sample.at),
    cpu: { ...cpuDocument(sample), load_average: loadOf(tasks) },
    diskio: diskDocument(sample),
    memory: memoryDocument(sample),
    ...(network ? { network: { ...interfaceDocument(network[0]), ...interfacesDocument(network) } } : {}),
    ...(filesystem.length > 0 ? { filesystem } : {}),
    task_stats: tasksDocument(tasks),
    processes: processDocument(sample),
    oom_events: sample.memory?.oomKills ?? 0,
  };
}

/** In thousandths, whole. */
export const loadOf = (tasks: Point["tasks"]): number => Math.trunc((tasks?.load ?? 0) * 1000);

export function tasksDocument(tasks: Point["tasks"]): object {
  return {
    nr_sleeping: tasks?.sleeping ?? 0,
    nr_running: tasks?.running ?? 0,
    nr_stopped: tasks?.stopped ?? 0,
    nr_uninterruptible: tasks?.uninterruptible ?? 0,
    nr_io_wait: tasks?.ioWaiting ?? 0,
  };
}

export function cpuDocument({ cpu, pressure }: CgroupSample): object {
  const { usageNs = 0n, userNs = 0n, systemNs = 0n, periods = 0, throttledPeriods = 0, throttledNs = 0n } = cpu ?? {};
  return {
    usage: { total: Number(usageNs), user: Number(userNs), system: Number(systemNs) },
    cfs: { periods, throttled_periods: throttledPeriods, throttled_time: Number(throttledNs) },
    ...(pressure?.cpu ? { psi: psiOf(pressure.cpu) } : {}),
  };
}

export function memoryDocument({ memory, pressure }: CgroupSample): object {
  const faults = { pgfault: memory?.pageFaults ?? 0, pgmajfault: memory?.majorPageFaults ?? 0 };
  return {
    usage: memory?.usageBytes ?? 0,
    max_usage: memory?.maxUsageBytes ?? 0,
    cache: memory?.cacheBytes ?? 0,
    rss: memory?.rssBytes ?? 0,
    swap: memory?.swapBytes ?? 0,
    mapped_file: memory?.mappedFileBytes ?? 0,
    working_set: memory?.workingSetBytes ?? 0,
    total_active_file: memory?.activeFileBytes ?? 0,
    total_inactive_file: memory?.inactiveFileBytes ?? 0,
    file_dirty: memory?.dirtyFileBytes ?? 0,
    file_writeback: memory?.writebackBytes ?? 0,
    failcnt: memory?.failures ?? 0,
    kernel: memory?.kernelBytes ?? 0,
    container_data: faults,
    hierarchical_data: faults,
    ...(pressure?.memory ? { psi: psiOf(pressure.memory) } : {}),
  };
}

export function diskDocument({ io = [], pressure }: CgroupSample): object {
  const per = (read: "readBytes" | "reads", write: "writeBytes" | "writes") =>
    io.map((one) => {
      const [major, minor] = one.device.split(":").map(Number);
      const stats = { Read: one[read], Write: one[write], Total: one[read] + one[write] };
      return { device: deviceName(one.device), major, minor, stats };
    });
  return {
    ...(io.length > 0 ? { io_service_bytes: per("readBytes", "writeBytes"), io_serviced: per("reads", "writes") } : {}),
    ...(pressure?.io ? { psi: psiOf(pressure.io) } : {}),
  };
}

export function processDocument({ processes = 0, threads }: CgroupSample): object {
  return { process_count: processes, ...(threads === undefined ? {} : { threads_current: threads }) };
}

export function interfacesDocument(network: readonly InterfaceCounters[]): object {
  return { interfaces: network.map(interfaceDocument) };
}

function interfaceDocument(one: InterfaceCounters | undefined): object {
  return {
    name: one?.name ?? "",
    rx_bytes: one?.rxBytes ?? 0,
    rx_packets: one?.rxPackets ?? 0,
    rx_errors: one?.rxErrors ?? 0,
    rx_dropped: one?.rxDropped ?? 0,
    tx_bytes: one?.txBytes ?? 0,
    tx_packets: one?.txPackets ?? 0,
    tx_errors: one?.txErrors ?? 0,
    tx_dropped: one?.txDropped ?? 0,
  };
}

const devices = new Map<string, string>();

/** `/dev/sda` for `8:0`; the numbers themselves where the kernel knows no name. */
export function deviceName(numbers: string): string {
  const known = devices.get(numbers);
  if (known !== undefined) return known;
  let name = numbers;
  try {
    const found = /^DEVNAME=(.+)$/m.exec(readFileSync(`/sys/dev/block/${numbers}/uevent`, "utf8"))?.[1];
    if (found) name = `/dev/${found}`;
  } catch {
    // A device that went away keeps its numbers.
  }
  devices.set(numbers, name);
  return name;
}
