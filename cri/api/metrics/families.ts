// The metrics that a runtime tells through CRI: those which kubelets have always had from cAdvisor, under the same names.

import { MetricType } from "../gen/runtime.js";

/** Of every metric, before its own. */
export const baseLabels = ["container", "id", "image", "name", "namespace", "pod"] as const;

interface Family {
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
}

const counter = (help: string, ...labels: string[]): Family => ({ type: MetricType.COUNTER, help, labels });
const gauge = (help: string, ...labels: string[]): Family => ({ type: MetricType.GAUGE, help, labels });

const pressure = (what: string, who: string) => counter(`Seconds in which ${who} of its tasks waited for ${what}.`);
const device = "device";
const link = "interface";

export const families = {
  container_cpu_usage_seconds_total: counter("CPU time used, in seconds.", "cpu"),
  container_cpu_user_seconds_total: counter("CPU time used in user mode, in seconds."),
  container_cpu_system_seconds_total: counter("CPU time used in kernel mode, in seconds."),
  container_cpu_cfs_periods_total: counter("Enforcement periods of its CPU limit that passed."),
  container_cpu_cfs_throttled_periods_total: counter("Periods in which it was held back by its CPU limit."),
  container_cpu_cfs_throttled_seconds_total: counter("Time for which it was held back by its CPU limit, in seconds."),
  container_memory_usage_bytes: gauge("Memory in use, all of it."),
  container_memory_working_set_bytes: gauge("Memory in use that cannot be dropped."),
  container_memory_rss: gauge("Anonymous memory, in bytes."),
  container_memory_cache: gauge("Page cache, in bytes."),
  container_memory_mapped_file: gauge("Files mapped into memory, in bytes."),
  container_memory_swap: gauge("Swap in use, in bytes."),
  container_memory_kernel_usage: gauge("Memory of the kernel on its behalf, in bytes."),
  container_memory_max_usage_bytes: gauge("The most memory that was ever in use."),
  container_memory_failcnt: counter("How often its memory limit was met."),
  container_memory_failures_total: counter("Page faults.", "failure_type", "scope"),
  container_oom_events_total: counter("Processes killed because its memory ran out."),
  container_hugetlb_usage_bytes: gauge("Huge pages in use, in bytes.", "pagesize"),
  container_hugetlb_max_usage_bytes: gauge("The most huge pages that were ever in use, in bytes.", "pagesize"),
  container_pressure_cpu_waiting_seconds_total: pressure("CPU", "some"),
  container_pressure_cpu_stalled_seconds_total: pressure("CPU", "all"),
  container_pressure_memory_waiting_seconds_total: pressure("memory", "some"),
  container_pressure_memory_stalled_seconds_total: pressure("memory", "all"),
  container_pressure_io_waiting_seconds_total: pressure("disks", "some"),
  container_pressure_io_stalled_seconds_total: pressure("disks", "all"),
  container_blkio_device_usage_total: counter("Bytes moved per device.", device, "major", "minor", "operation"),
  container_fs_reads_bytes_total: counter("Bytes read from disks.", device),
  container_fs_reads_total: counter("Reads from disks.", device),
  container_fs_writes_bytes_total: counter("Bytes written to disks.", device),
  container_fs_writes_total: counter("Writes to disks.", device),
  container_fs_usage_bytes: gauge("What its writable layer takes.", device),
  container_fs_limit_bytes: gauge("The size of the disk that its writable layer is on.", device),
  container_fs_inodes_free: gauge("Free inodes of that disk.", device),
  container_fs_inodes_total: gauge("Inodes of that disk.", device),
  container_processes: gauge("Processes in it."),
  container_threads: gauge("Tasks in it."),
  container_threads_max: gauge("The limit of tasks in it; none is 0."),
  container_file_descriptors: gauge("Files that its processes hold open."),
  container_sockets: gauge("Sockets that its processes hold open."),
  container_ulimits_soft: gauge("Soft limits of its first process; none is the largest number.", "ulimit"),
  container_spec_cpu_period: gauge("The period of its CPU limit, in microseconds."),
  container_spec_cpu_quota: gauge("Its CPU time per period, in microseconds."),
  container_spec_cpu_shares: gauge("Its share of the CPU."),
  container_spec_memory_limit_bytes: gauge("Its memory limit; none is 0."),
  container_spec_memory_reservation_limit_bytes: gauge("Memory that it is left with when there is little; none is 0."),
  container_spec_memory_swap_limit_bytes: gauge("Its limit of memory and swap; none is 0."),
  container_start_time_seconds: gauge("When it began, in seconds since 1970."),
  container_last_seen: gauge("When it was looked at, in seconds since 1970."),
  container_network_receive_bytes_total: counter("Bytes received.", link),
  container_network_receive_packets_total: counter("Packets received.", link),
  container_network_receive_errors_total: counter("Errors while receiving.", link),
  container_network_receive_packets_dropped_total: counter("Packets dropped while receiving.", link),
  container_network_transmit_bytes_total: counter("Bytes sent.", link),
  container_network_transmit_packets_total: counter("Packets sent.", link),
  container_network_transmit_errors_total: counter("Errors while sending.", link),
  container_network_transmit_packets_dropped_total: counter("Packets dropped while sending.", link),
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof families;

/** A value with those labels that are the family's own; undefined where the kernel does not say. */
export type Reading = readonly [family: FamilyName, value: bigint | number | undefined, ...labels: string[]];
