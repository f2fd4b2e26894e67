// ListMetricDescriptors and ListPodSandboxMetrics for runtimes on this host: what control groups, processes and the pod's network
// say, under the names that kubelets expose.

import { statfs } from "node:fs/promises";
import type { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import { number } from "../cgroup-usage.ts";
import type { ContainerMetrics, Metric, MetricDescriptor, PodSandboxMetrics } from "../gen/runtime.js";
import { cpuReadings, diskReadings, hugePageReadings, memoryReadings, pressureReadings } from "./cgroup-readings.ts";
import { baseLabels, families, type FamilyName, type Reading } from "./families.ts";
import { processReadings } from "./process-readings.ts";

export interface MeasuredContainer {
  readonly id: string;
  readonly cgroup: string;
  /** As the pod names it. */
  readonly name: string;
  readonly image: string;
  /** Nanoseconds since 1970. */
  readonly startedAt: bigint;
  readonly writableLayer?: { readonly path: string; readonly bytes: number };
}

export interface MeasuredPod {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  /** The text of its `/proc/…/net/dev`; undefined where it has the host's network. */
  readonly interfaces: string | undefined;
  readonly containers: readonly MeasuredContainer[];
}

export const metricDescriptors: MetricDescriptor[] = Object.entries(families).map(([name, { help, labels }]) => ({
  name,
  help,
  labelKeys: [...baseLabels, ...labels],
}));

/** `at` in nanoseconds since 1970. */
export async function podMetrics(pod: MeasuredPod, cgroups: Cgroups, at: bigint): Promise<PodSandboxMetrics> {
  const labelsOf = (container?: MeasuredContainer) => [
    container?.name ?? "",
    container?.cgroup ?? "",
    container?.image ?? "",
    container?.id ?? pod.id,
    pod.namespace,
    pod.name,
  ];
  const containerMetrics: ContainerMetrics[] = [];
  for (const container of pod.containers) {
    const readings = await containerReadings(container, cgroups, at);
    containerMetrics.push({ containerId: container.id, metrics: toMetrics(readings, labelsOf(container)) });
  }
  const metrics = toMetrics(networkReadings(pod.interfaces ?? ""), labelsOf());
  return { podSandboxId: pod.id, metrics, containerMetrics };
}

async function containerReadings(container: MeasuredContainer, cgroups: Cgroups, at: bigint): Promise<Reading[]> {
  const { cgroup, startedAt, writableLayer } = container;
  const seconds = (nanoseconds: bigint) => nanoseconds / 1_000_000_000n;
  return [
    ...cpuReadings(cgroups, cgroup),
    ...memoryReadings(cgroups, cgroup),
    ...pressureReadings(cgroups, cgroup),
    ...hugePageReadings(cgroups, cgroup),
    ...diskReadings(cgroups, cgroup),
    ...processReadings(cgroups, cgroup),
    ...(writableLayer ? await layerReadings(writableLayer) : []),
    ["container_start_time_seconds", seconds(startedAt)],
    ["container_last_seen", seconds(at)],
  ];
}

async function layerReadings({ path, bytes }: NonNullable<MeasuredContainer["writableLayer"]>): Promise<Reading[]> {
  const disk = await statfs(path, { bigint: true }).catch(() => undefined);
  if (!disk) return [];
  return [
    ["container_fs_usage_bytes", bytes, path],
    ["container_fs_limit_bytes", disk.blocks * disk.bsize, path],
    ["container_fs_inodes_free", disk.ffree, path],
    ["container_fs_inodes_total", disk.files, path],
  ];
}

/** The columns of `/proc/net/dev` by their metric: received first, then sent. */
const columns: readonly [at: number, family: FamilyName][] = [
  [0, "container_network_receive_bytes_total"],
  [1, "container_network_receive_packets_total"],
  [2, "container_network_receive_errors_total"],
  [3, "container_network_receive_packets_dropped_total"],
  [8, "container_network_transmit_bytes_total"],
  [9, "container_network_transmit_packets_total"],
  [10, "container_network_transmit_errors_total"],
  [11, "container_network_transmit_packets_dropped_total"],
];

function networkReadings(text: string): Reading[] {
  return text
    .split("\n")
    .slice(2)
    .flatMap((line): Reading[] => {
      const [name, counters] = line.trim().split(/:\s*/);
      if (!name || !counters || name === "lo") return [];
      const values = counters.split(/\s+/);
      return columns.map(([at, family]) => [family, number(values[at]), name]);
    });
}

function toMetrics(readings: readonly Reading[], base: readonly string[]): Metric[] {
  return readings.flatMap(([name, value, ...labels]) =>
    value === undefined
      ? []
      : [
          {
            name,
            // Read at the moment of asking.
            timestamp: 0n,
            metricType: families[name].type,
            labelValues: [...base, ...labels],
            value: { value: BigInt(value) },
          },
        ],
  );
}
