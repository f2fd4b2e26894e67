// `/metrics/cadvisor`: the series that cAdvisor is known for, with its names and labels, so that rules and boards keep working.

import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityMilli, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import { findContainer } from "../model/agent-pod.ts";
import type { NodeDisk } from "./disk-view.ts";
import { deviceName } from "./cadvisor/stats-document.ts";
import { type DiskCounters, sectorBytes } from "./disk-stats.ts";
import type { MountedFileSystem } from "./cadvisor/filesystems.ts";
import { Exposition, labelText } from "./exposition.ts";
import type { InterfaceCounters } from "./net-dev.ts";
import { rootSample } from "./root-sample.ts";
import type { ContainerUsage, Snapshot } from "./usage.ts";

export interface MachineNumbers {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** Wall time in milliseconds. */
  readonly bootedAt: number;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly physicalCores: number;
  readonly sockets: number;
}

const period = 100_000;

/** What is counted only when somebody asks. */
export interface CountedNow {
  /** Files and sockets that the processes of a group hold open. */
  openFiles(cgroup: string): { readonly files: number; readonly sockets: number };
  /** How many files its first process may open, and how many threads the group may have; absent where nothing bounds them. */
  bounds(cgroup: string): { readonly files?: number; readonly threads?: number };
  /** The file systems that are on devices. */
  readonly mounted: readonly MountedFileSystem[];
}

export function cadvisorMetrics(
  { at, node, pods }: Snapshot,
  disk: NodeDisk,
  machine: MachineNumbers,
  counted?: CountedNow,
): string {
  const out = new Exposition();
  const info = {
    cadvisorRevision: "",
    cadvisorVersion: "",
    dockerVersion: "",
    kernelVersion: machine.kernelVersion,
    osVersion: machine.osImage,
  };
  out.add(
    "cadvisor_version_info",
    "gauge",
    "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
    info,
    1,
  );
  const root = rootSample(node);
  const nobody = { container: "", id: "/", image: "", name: "", namespace: "", pod: "" };
  usage(out, labelText(nobody), root);
  startTime(out, labelText(nobody), machine.bootedAt);
  network(out, nobody, node.interfaces, at);
  disks(out, labelText(nobody), node.disks, at);
  for (const one of counted?.mounted ?? []) fileSystem(out, labelText(nobody), one, one.usedBytes, at);
  const limitHelp = "Memory limit for the container.";
  out.add("container_spec_memory_limit_bytes", "gauge", limitHelp, labelText(nobody), machine.memoryBytes);
  const imagesOn = counted?.mounted.find(({ labels }) => labels.includes("images"))?.device ?? "";
  for (const { pod, cgroup, sample, network: interfaces, containers } of pods) {
    const { name, namespace, uid } = pod.metadata;
    const own = { container: "", id: cgroup, image: "", name: "", namespace, pod: name };
    const text = labelText(own);
    usage(out, text, sample);
    startTime(out, text, Date.parse(String(pod.status?.startTime ?? pod.metadata.creationTimestamp ?? "")));
    if (interfaces) network(out, own, interfaces, sample.at);
    for (const one of containers) {
      const { container } = one;
      const labels = labelText({
        container: container.name,
        id: one.cgroup,
        image: container.image,
        name: container.id,
        namespace,
        pod: name,
      });
      usage(out, labels, one.sample);
      startTime(out, labels, container.startedAt);
      if (one.tasks) tasks(out, labels, one.tasks, one.sample.at);
      const open = one.cgroup === "" ? undefined : counted?.openFiles(one.cgroup);
      if (open) {
        const help = "Number of open file descriptors for the container.";
        out.add("container_file_descriptors", "gauge", help, labels, open.files, at);
        out.add("container_sockets", "gauge", "Number of open sockets for the container.", labels, open.sockets, at);
      }
      bounds(out, labels, (one.cgroup === "" ? undefined : counted?.bounds(one.cgroup)) ?? {}, at);
      const written = disk.pods.get(uid)?.roots.get(container.id);
      if (written) {
        const { inodes = 0, inodesFree = 0, capacityBytes = 0 } = disk.images ?? {};
        fileSystem(out, labels, { device: imagesOn, inodes, inodesFree, capacityBytes }, written.bytes, at);
      }
      limits(out, labels, findContainer(pod, container.name)?.container);
    }
  }
  machineSeries(out, machine, node.memory.swapTotalBytes);
  out.add(
    "container_scrape_error",
    "gauge",
    "1 if there was an error while getting container metrics, 0 otherwise",
    "",
    0,
  );
  return out.toString();
}

function usage(
  out: Exposition,
  labels: string,
  { at, cpu, memory, processes, threads, io, pressure }: CgroupSample,
): void {
  const seconds = (ns: bigint | undefined) => Number(ns ?? 0n) / 1e9;
  const counter = (name: string, help: string, value: number, more = "") =>
    out.add(name, "counter", help, labels + more, value, at);
  const gauge = (name: string, help: string, value: number) => out.add(name, "gauge", help, labels, value, at);
  gauge("container_last_seen", "Last time a container was seen by the exporter", Math.floor(at / 1000));
  if (cpu) {
    counter(
      "container_cpu_usage_seconds_total",
      "Cumulative cpu time consumed in seconds.",
      seconds(cpu.usageNs),
      ',cpu="total"',
    );
    counter("container_cpu_user_seconds_total", "Cumulative user cpu time consumed in seconds.", seconds(cpu.userNs));
    counter(
      "container_cpu_system_seconds_total",
      "Cumulative system cpu time consumed in seconds.",
      seconds(cpu.systemNs),
    );
    if (cpu.periods) {
      counter("container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals.", cpu.periods);
      counter(
        "container_cpu_cfs_throttled_periods_total",
        "Number of throttled period intervals.",
        cpu.throttledPeriods ?? 0,
      );
      counter(
        "container_cpu_cfs_throttled_seconds_total",
        "Total time duration the container has been throttled.",
        seconds(cpu.throttledNs),
      );
    }
  }
  if (memory) {
    gauge(
      "container_memory_usage_bytes",
      "Current memory usage in bytes, including all memory regardless of when it was accessed",
      memory.usageBytes,
    );
    gauge("container_memory_working_set_bytes", "Current working set in bytes.", memory.workingSetBytes);
    gauge("container_memory_rss", "Size of RSS in bytes.", memory.rssBytes);
    gauge("container_memory_cache", "Number of bytes of page cache memory.", memory.cacheBytes ?? 0);
    gauge("container_memory_swap", "Container swap usage in bytes.", memory.swapBytes ?? 0);
    gauge("container_memory_mapped_file", "Size of memory mapped files in bytes.", memory.mappedFileBytes ?? 0);
    gauge(
      "container_memory_max_usage_bytes",
      "Maximum memory usage recorded in bytes",
      memory.maxUsageBytes ?? memory.usageBytes,
    );
    gauge(
      "container_memory_total_active_file_bytes",
      "Current total active file in bytes.",
      memory.activeFileBytes ?? 0,
    );
    gauge(
      "container_memory_total_inactive_file_bytes",
      "Current total inactive file in bytes.",
      memory.inactiveFileBytes ?? 0,
    );
    gauge("container_memory_kernel_usage", "Size of kernel memory allocated in bytes.", memory.kernelBytes ?? 0);
    counter("container_memory_failcnt", "Number of memory usage hits limits", memory.failures ?? 0);
    counter(
      "container_memory_failures_total",
      "Cumulative count of memory allocation failures.",
      memory.pageFaults ?? 0,
      ',failure_type="pgfault",scope="hierarchy"',
    );
    counter(
      "container_memory_failures_total",
      "Cumulative count of memory allocation failures.",
      memory.majorPageFaults ?? 0,
      ',failure_type="pgmajfault",scope="hierarchy"',
    );
    counter(
      "container_oom_events_total",
      "Count of out of memory events observed for the container",
      memory.oomKills ?? 0,
    );
  }
  if (processes !== undefined)
    gauge("container_processes", "Number of processes running inside the container.", processes);
  if (threads !== undefined) gauge("container_threads", "Number of threads running inside the container", threads);
  for (const { device, readBytes, writeBytes, reads, writes } of io ?? []) {
    const name = deviceName(device);
    const on = `,device="${name}"`;
    const [major, minor] = device.split(":");
    const blkio = (operation: string, value: number) =>
      counter(
        "container_blkio_device_usage_total",
        "Blkio Device bytes usage",
        value,
        `,device="${name}",major="${major}",minor="${minor}",operation="${operation}"`,
      );
    blkio("Read", readBytes);
    blkio("Write", writeBytes);
    counter("container_fs_reads_bytes_total", "Cumulative count of bytes read", readBytes, on);
    counter("container_fs_writes_bytes_total", "Cumulative count of bytes written", writeBytes, on);
    counter("container_fs_reads_total", "Cumulative count of reads completed", reads, on);
    counter("container_fs_writes_total", "Cumulative count of writes completed", writes, on);
  }
  for (const [kind, { some, full }] of Object.entries(pressure ?? {})) {
    counter(
      `container_pressure_${kind}_waiting_seconds_total`,
      `Total time duration tasks in the container have waited due to ${kind} congestion.`,
      some.totalUs / 1e6,
    );
    counter(
      `container_pressure_${kind}_stalled_seconds_total`,
      `Total time duration no tasks in the container could make progress due to ${kind} congestion.`,
      full.totalUs / 1e6,
    );
  }
}

function tasks(out: Exposition, labels: string, { load, ...states }: NonNullable<ContainerUsage["tasks"]>, at: number) {
  for (const [state, count] of Object.entries(states)) {
    const text = `${labels},state="${state.toLowerCase()}"`;
    out.add("container_tasks_state", "gauge", "Number of tasks in given state", text, count, at);
  }
  // In thousandths, whole: as cAdvisor has it.
  const help = "Value of container cpu load average over the last 10 seconds.";
  out.add("container_cpu_load_average_10s", "gauge", help, labels, Math.trunc(load * 1000), at);
}

/** Boards join series of several exporters by these ids. */
function machineSeries(out: Exposition, machine: MachineNumbers, swapBytes: number): void {
  const ids = { boot_id: machine.bootId, machine_id: machine.machineId, system_uuid: machine.systemUuid };
  const labels = labelText(ids);
  const add = (name: string, help: string, value: number) => out.add(`machine_${name}`, "gauge", help, labels, value);
  add("cpu_cores", "Number of logical CPU cores.", machine.cpus);
  add("cpu_physical_cores", "Number of physical CPU cores.", machine.physicalCores);
  add("cpu_sockets", "Number of CPU sockets.", machine.sockets);
  add("memory_bytes", "Amount of memory installed on the machine.", machine.memoryBytes);
  add("swap_bytes", "Amount of swap memory available on the machine.", swapBytes);
}

/** How full a file system is: the machine's own, or the one that a container's root lies on. */
function fileSystem(
  out: Exposition,
  labels: string,
  on: Pick<MountedFileSystem, "device" | "inodes" | "inodesFree" | "capacityBytes">,
  usedBytes: number,
  at: number,
): void {
  const text = `${labels},${labelText({ device: on.device })}`;
  const add = (name: string, help: string, value: number) =>
    out.add(`container_fs_${name}`, "gauge", help, text, value, at);
  const here = "by the container on this filesystem.";
  add("usage_bytes", `Number of bytes that are consumed ${here}`, usedBytes);
  add("limit_bytes", `Number of bytes that can be consumed ${here}`, on.capacityBytes);
  add("inodes_total", "Number of Inodes", on.inodes);
  add("inodes_free", "Number of available Inodes", on.inodesFree);
}

function bounds(out: Exposition, labels: string, found: ReturnType<CountedNow["bounds"]>, at: number): void {
  const { files, threads } = found;
  if (threads !== undefined) {
    const help = "Maximum number of threads allowed inside the container, infinity if value is zero";
    out.add("container_threads_max", "gauge", help, labels, threads, at);
  }
  if (files !== undefined) {
    const help = "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice";
    out.add("container_ulimits_soft", "gauge", help, `${labels},ulimit="max_open_files"`, files, at);
  }
}

function startTime(out: Exposition, labels: string, ms: number): void {
  if (Number.isNaN(ms)) return;
  const help = "Start time of the container since unix epoch in seconds.";
  out.add("container_start_time_seconds", "gauge", help, labels, Math.floor(ms / 1000));
}

/** The machine's own disks stand below its root. */
function disks(out: Exposition, labels: string, all: readonly DiskCounters[], at: number): void {
  for (const one of all) {
    const on = `${labels},device="/dev/${one.name}"`;
    const counter = (name: string, help: string, value: number) =>
      out.add(`container_fs_${name}`, "counter", `Cumulative count of ${help}`, on, value, at);
    counter("reads_bytes_total", "bytes read", one.sectorsRead * sectorBytes);
    counter("writes_bytes_total", "bytes written", one.sectorsWritten * sectorBytes);
    counter("reads_total", "reads completed", one.reads);
    counter("writes_total", "writes completed", one.writes);
    counter("reads_merged_total", "reads merged", one.readsMerged);
    counter("writes_merged_total", "writes merged", one.writesMerged);
    counter("sector_reads_total", "sector reads completed", one.sectorsRead);
    counter("sector_writes_total", "sector writes completed", one.sectorsWritten);
    counter("read_seconds_total", "seconds spent reading", one.readMs / 1000);
    counter("write_seconds_total", "seconds spent writing", one.writeMs / 1000);
    counter("io_time_seconds_total", "seconds spent doing I/Os", one.ioMs / 1000);
    counter("io_time_weighted_seconds_total", "weighted I/O time in seconds", one.weightedIoMs / 1000);
    const now = "Number of I/Os currently in progress";
    out.add("container_fs_io_current", "gauge", now, on, one.inProgress, at);
  }
}

function network(
  out: Exposition,
  labels: Readonly<Record<string, string>>,
  interfaces: readonly InterfaceCounters[],
  at: number,
): void {
  for (const one of interfaces) {
    const text = labelText({ ...labels, interface: one.name });
    const add = (direction: string, what: string, help: string, value: number) =>
      out.add(
        `container_network_${direction}_${what}_total`,
        "counter",
        `Cumulative count of ${help}`,
        text,
        value,
        at,
      );
    add("receive", "bytes", "bytes received", one.rxBytes);
    add("receive", "packets", "packets received", one.rxPackets);
    add("receive", "errors", "errors encountered while receiving", one.rxErrors);
    add("receive", "packets_dropped", "packets dropped while receiving", one.rxDropped);
    add("transmit", "bytes", "bytes transmitted", one.txBytes);
    add("transmit", "packets", "packets transmitted", one.txPackets);
    add("transmit", "errors", "errors encountered while transmitting", one.txErrors);
    add("transmit", "packets_dropped", "packets dropped while transmitting", one.txDropped);
  }
}

function limits(out: Exposition, labels: string, container: Container | undefined): void {
  const { limits: most, requests } = container?.resources ?? {};
  const milli = (text: string | number | undefined) =>
    text === undefined ? undefined : Number(quantityMilli(parseQuantity(text)));
  const cpu = milli(most?.cpu);
  if (cpu !== undefined) {
    out.add("container_spec_cpu_quota", "gauge", "CPU quota of the container.", labels, (cpu * period) / 1000);
    out.add("container_spec_cpu_period", "gauge", "CPU period of the container.", labels, period);
  }
  const shares = Math.max(2, Math.floor(((milli(requests?.cpu) ?? cpu ?? 0) * 1024) / 1000));
  out.add("container_spec_cpu_shares", "gauge", "CPU share of the container.", labels, shares);
  const memory = most?.memory === undefined ? 0 : Number(quantityValue(parseQuantity(most.memory)));
  const reserved = requests?.memory === undefined ? 0 : Number(quantityValue(parseQuantity(requests.memory)));
  const reservedHelp = "Memory reservation limit for the container.";
  out.add("container_spec_memory_reservation_limit_bytes", "gauge", reservedHelp, labels, reserved);
  const swapHelp = "Memory swap limit for the container.";
  out.add("container_spec_memory_swap_limit_bytes", "gauge", swapHelp, labels, memory);
  out.add("container_spec_memory_limit_bytes", "gauge", "Memory limit for the container.", labels, memory);
}
