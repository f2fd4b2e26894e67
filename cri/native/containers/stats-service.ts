// The stats RPCs of CRI over what the control groups say.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RuntimeService } from "../../api/contract.ts";
import {
  type ContainerStats,
  NamespaceMode,
  type PodSandboxMetrics,
  type PodSandboxStats,
} from "../../api/gen/runtime.js";
import { type MeasuredPod, metricDescriptors, podMetrics } from "../../api/metrics/pod-metrics.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { type Native, nowNs } from "../native.ts";
import { within } from "../kernel/namespaces.ts";
import { hasLabels } from "../list-filter.ts";
import type { SandboxRecord } from "../sandboxes/sandbox-record.ts";
import type { ContainerRecord } from "./container-record.ts";
import { CpuRates, cpuUsage, interfacesOf, ioUsage, memoryUsage, swapUsage } from "../../api/cgroup-usage.ts";

type StatsRpcs = Pick<
  RuntimeService,
  | "containerStats"
  | "listContainerStats"
  | "podSandboxStats"
  | "listPodSandboxStats"
  | "listMetricDescriptors"
  | "listPodSandboxMetrics"
>;

const networkCounters = (nsFolder: string) =>
  within(nsFolder, ["net"], () => readFileSync("/proc/thread-self/net/dev", "utf8"));

export function statsService(native: Native): StatsRpcs {
  const rates = new CpuRates();

  const ofContainer = async (record: ContainerRecord, call: Call): Promise<ContainerStats> => {
    const at = nowNs(native.clock);
    const { id, config, cgroup } = record;
    const { metadata, labels, annotations } = config;
    const used = await native.disk.of(join(native.paths.container(id), "upper"), call);
    const isRunning = record.phase === "running";
    return {
      attributes: { id, metadata, labels, annotations },
      cpu: isRunning ? cpuUsage(native.cgroups, cgroup, at, rates) : undefined,
      memory: isRunning ? memoryUsage(native.cgroups, cgroup, at) : undefined,
      swap: isRunning ? swapUsage(native.cgroups, cgroup, at) : undefined,
      io: isRunning ? ioUsage(native.cgroups, cgroup, at) : undefined,
      writableLayer: {
        timestamp: at,
        fsId: { mountpoint: native.paths.root },
        usedBytes: { value: BigInt(used.bytes) },
        inodesUsed: { value: BigInt(used.inodes) },
      },
    };
  };

  const ofSandbox = async (record: SandboxRecord, call: Call): Promise<PodSandboxStats> => {
    const at = nowNs(native.clock);
    const { metadata, labels, annotations, linux } = record.config;
    const own = native.containers
      .list()
      .filter(({ sandboxId, phase }) => sandboxId === record.id && phase === "running");
    const containers: ContainerStats[] = [];
    for (const container of own) containers.push(await ofContainer(container, call));
    const group = linux?.cgroupParent || `${native.paths.defaultCgroup}/${record.id}`;
    const interfaces =
      record.phase === "ready" ? interfacesOf(networkCounters(native.paths.namespaces(record.id))) : [];
    const isShared = linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    const processes = own.reduce((sum, container) => sum + native.cgroups.processes(container.cgroup).length, 0);
    return {
      attributes: { id: record.id, metadata, labels, annotations },
      linux: {
        cpu: cpuUsage(native.cgroups, group, at, rates),
        memory: memoryUsage(native.cgroups, group, at),
        network: isShared
          ? undefined
          : {
              timestamp: at,
              defaultInterface: interfaces.find(({ name }) => name === "eth0"),
              interfaces: interfaces.filter(({ name }) => name !== "eth0"),
            },
        process: { timestamp: at, processCount: { value: BigInt(processes) } },
        containers,
        io: ioUsage(native.cgroups, group, at),
      },
      windows: undefined,
    };
  };

  const measured = async ({ id, config }: SandboxRecord, call: Call): Promise<MeasuredPod> => {
    const own = native.containers.list().filter(({ sandboxId, phase }) => sandboxId === id && phase === "running");
    const containers = await Promise.all(
      own.map(async (record) => ({
        id: record.id,
        cgroup: record.cgroup,
        name: record.config.metadata?.name ?? "",
        image: record.config.image?.userSpecifiedImage || record.config.image?.image || record.imageRef,
        startedAt: record.startedAt,
        writableLayer: {
          path: native.paths.root,
          bytes: (await native.disk.of(join(native.paths.container(record.id), "upper"), call)).bytes,
        },
      })),
    );
    const isShared = config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    const interfaces = isShared ? undefined : networkCounters(native.paths.namespaces(id));
    return {
      id,
      name: config.metadata?.name ?? "",
      namespace: config.metadata?.namespace ?? "",
      interfaces,
      containers,
    };
  };

  return {
    containerStats: async ({ containerId }, call) => ({
      stats: await ofContainer(native.containers.get(containerId), call),
    }),
    async listContainerStats({ filter }, call) {
      const found = native.containers
        .list()
        .filter(({ phase }) => phase === "running")
        .filter(({ id }) => !filter?.id || id.startsWith(filter.id))
        .filter(({ sandboxId }) => !filter?.podSandboxId || sandboxId.startsWith(filter.podSandboxId))
        .filter(({ config }) => hasLabels(config.labels, filter?.labelSelector));
      const stats: ContainerStats[] = [];
      for (const record of found) stats.push(await ofContainer(record, call));
      return { stats };
    },
    podSandboxStats: async ({ podSandboxId }, call) => ({
      stats: await ofSandbox(native.sandboxes.get(podSandboxId), call),
    }),
    async listPodSandboxStats({ filter }, call) {
      const found = native.sandboxes
        .list()
        .filter(({ phase }) => phase === "ready")
        .filter(({ id }) => !filter?.id || id.startsWith(filter.id))
        .filter(({ config }) => hasLabels(config.labels, filter?.labelSelector));
      const stats: PodSandboxStats[] = [];
      for (const record of found) stats.push(await ofSandbox(record, call));
      return { stats };
    },
    listMetricDescriptors: async () => ({ descriptors: metricDescriptors }),
    async listPodSandboxMetrics(_request, call) {
      const ready = native.sandboxes.list().filter(({ phase }) => phase === "ready");
      const found: PodSandboxMetrics[] = [];
      for (const record of ready)
        found.push(await podMetrics(await measured(record, call), native.cgroups, nowNs(native.clock)));
      return { podMetrics: found };
    },
  };
}
