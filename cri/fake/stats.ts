// The fake's stats: as complete as a real runtime's, computed from how long a container runs.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { RuntimeService } from "../api/contract.ts";
import { matchesContainerStats, matchesSandboxStats } from "../api/filters.ts";
import {
  type ContainerMetrics,
  ContainerState,
  ContainerStats,
  type Metric,
  MetricType,
  PodSandboxStats,
} from "../api/gen/runtime.js";
import { type FakeContainer, type FakeSandbox, type FakeWorld, isReady, nanoseconds } from "./world.ts";

type Stats = Pick<
  RuntimeService,
  | "containerStats"
  | "listContainerStats"
  | "podSandboxStats"
  | "listPodSandboxStats"
  | "listMetricDescriptors"
  | "listPodSandboxMetrics"
>;

const mebibyte = 1_048_576n;

export function fakeStats(world: FakeWorld, clock: Clock): Stats {
  const isRunning = ({ status }: FakeContainer) => status.state === ContainerState.CONTAINER_RUNNING;
  const runningIn = (sandbox: FakeSandbox) => world.containersOf(sandbox.status.id).filter(isRunning);
  const sandboxStats = (sandbox: FakeSandbox) => statsOfSandbox(sandbox, runningIn(sandbox), clock);
  return {
    containerStats: async ({ containerId }) => ({ stats: statsOf(world.container(containerId), clock) }),
    async listContainerStats({ filter }) {
      const containers = [...world.containers.values()].filter(isRunning);
      const wanted = containers.filter(({ podSandboxId, status }) =>
        matchesContainerStats({ id: status.id, labels: status.labels, podSandboxId }, filter),
      );
      return { stats: wanted.map((container) => statsOf(container, clock)) };
    },
    podSandboxStats: async ({ podSandboxId }) => ({ stats: sandboxStats(world.sandbox(podSandboxId)) }),
    async listPodSandboxStats({ filter }) {
      const sandboxes = [...world.sandboxes.values()].filter(isReady);
      return { stats: sandboxes.filter(({ status }) => matchesSandboxStats(status, filter)).map(sandboxStats) };
    },
    async listMetricDescriptors() {
      const labelKeys = ["id", "name", "image"];
      return {
        descriptors: [{ name: "container_memory_working_set_bytes", help: "Working set of the container.", labelKeys }],
      };
    },
    async listPodSandboxMetrics() {
      const podMetrics = [...world.sandboxes.values()].filter(isReady).map((sandbox) => ({
        podSandboxId: sandbox.status.id,
        metrics: [],
        containerMetrics: runningIn(sandbox).map(metricsOf),
      }));
      return { podMetrics };
    },
  };
}

function statsOf({ status }: FakeContainer, clock: Clock): ContainerStats {
  const timestamp = nanoseconds(clock);
  const ranFor = status.startedAt > 0n ? (status.finishedAt || timestamp) - status.startedAt : 0n;
  return ContainerStats.create({
    attributes: {
      id: status.id,
      ...(status.metadata ? { metadata: status.metadata } : {}),
      labels: status.labels,
      annotations: status.annotations,
    },
    // One hundredth of a core, always.
    cpu: { timestamp, usageCoreNanoSeconds: { value: ranFor / 100n }, usageNanoCores: { value: 10_000_000n } },
    memory: { timestamp, ...memory(1n) },
    writableLayer: {
      timestamp,
      fsId: { mountpoint: "/var/lib/fake" },
      usedBytes: { value: 4096n },
      inodesUsed: { value: 1n },
    },
    swap: { timestamp, swapUsageBytes: { value: 0n }, swapAvailableBytes: { value: 0n } },
  });
}

function memory(containers: bigint) {
  const value = mebibyte * containers;
  return {
    workingSetBytes: { value },
    usageBytes: { value },
    rssBytes: { value },
    availableBytes: { value: 0n },
    pageFaults: { value: 10n * containers },
    majorPageFaults: { value: 0n },
  };
}

function statsOfSandbox({ status }: FakeSandbox, running: readonly FakeContainer[], clock: Clock): PodSandboxStats {
  const timestamp = nanoseconds(clock);
  const containers = running.map((container) => statsOf(container, clock));
  const count = BigInt(containers.length);
  const used = containers.reduce((sum, { cpu }) => sum + (cpu?.usageCoreNanoSeconds?.value ?? 0n), 0n);
  const eth0 = {
    name: "eth0",
    rxBytes: { value: 1000n },
    rxErrors: { value: 0n },
    txBytes: { value: 2000n },
    txErrors: { value: 0n },
  };
  const { id, metadata, labels, annotations } = status;
  return PodSandboxStats.create({
    attributes: { id, ...(metadata ? { metadata } : {}), labels, annotations },
    linux: {
      cpu: { timestamp, usageCoreNanoSeconds: { value: used }, usageNanoCores: { value: 10_000_000n * count } },
      memory: { timestamp, ...memory(count) },
      network: { timestamp, defaultInterface: eth0, interfaces: [eth0] },
      process: { timestamp, processCount: { value: count } },
      containers,
    },
  });
}

function metricsOf({ status }: FakeContainer): ContainerMetrics {
  const metric: Metric = {
    name: "container_memory_working_set_bytes",
    timestamp: 0n,
    metricType: MetricType.GAUGE,
    labelValues: [`/fake/${status.id}`, status.metadata?.name ?? "", status.image?.image ?? ""],
    value: { value: mebibyte },
  };
  return { containerId: status.id, metrics: [metric] };
}
