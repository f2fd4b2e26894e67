// The stats RPCs of CRI, over what the control groups of this host say: complete for containers and for pods, and without asking the
// daemon to measure, which takes it seconds.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { cpuUsage, interfacesOf, ioUsage, memoryUsage, swapUsage } from "../../api/cgroup-usage.ts";
import type { RuntimeService } from "../../api/contract.ts";
import { matchesContainerStats, matchesSandboxStats } from "../../api/filters.ts";
import {
  type ContainerStats,
  type ContainerStatsFilter,
  NamespaceMode,
  type PodSandboxMetrics,
  type PodSandboxStats,
} from "../../api/gen/runtime.js";
import {
  type MeasuredContainer,
  type MeasuredPod,
  metricDescriptors,
  podMetrics,
} from "../../api/metrics/pod-metrics.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { type Docker, nowNs } from "../docker.ts";
import { type ContainerRecord, containerRecord, type SandboxRecord, sandboxRecord } from "../labels.ts";
import { namespaceModes } from "../sandboxes/sandbox-view.ts";

type StatsRpcs = Pick<
  RuntimeService,
  | "containerStats"
  | "listContainerStats"
  | "podSandboxStats"
  | "listPodSandboxStats"
  | "listMetricDescriptors"
  | "listPodSandboxMetrics"
>;

export function statsService(docker: Docker): StatsRpcs {
  return {
    async containerStats({ containerId }, call) {
      const seen = await docker.inventory.inspect("container", containerId, call);
      return { stats: await statsOf(docker, containerRecord(seen.Id, seen.Config.Labels), call) };
    },
    listContainerStats: async ({ filter }, call) => ({ stats: await running(docker, filter, call) }),
    async podSandboxStats({ podSandboxId }, call) {
      const seen = await docker.inventory.inspect("sandbox", podSandboxId, call);
      const own = await running(docker, { id: "", podSandboxId: seen.Id, labelSelector: {} }, call);
      return { stats: await statsOfPod(docker, sandboxRecord(seen.Id, seen.Config.Labels), own, call) };
    },
    async listPodSandboxStats({ filter }, call) {
      const found = (await readySandboxes(docker, call)).filter(({ id, config }) =>
        matchesSandboxStats({ id, labels: config.labels }, filter),
      );
      const bySandbox = await runningBySandbox(docker, call);
      return {
        stats: await Promise.all(found.map((pod) => statsOfPod(docker, pod, bySandbox.get(pod.id) ?? [], call))),
      };
    },
    listMetricDescriptors: async () => ({ descriptors: metricDescriptors }),
    async listPodSandboxMetrics(_request, call) {
      const own = await runningRecords(docker, call);
      const found: PodSandboxMetrics[] = [];
      for (const pod of await readySandboxes(docker, call)) {
        const containers = own.filter(({ sandboxId }) => sandboxId === pod.id);
        found.push(
          await podMetrics(await measured(docker, pod, containers, call), docker.cgroups, nowNs(docker.clock)),
        );
      }
      return { podMetrics: found };
    },
  };
}

async function readySandboxes(docker: Docker, call: Call): Promise<SandboxRecord[]> {
  const found = await docker.inventory.list("sandbox", call);
  return found
    .filter(({ State, Id }) => State === "running" && !docker.unfinished.has(Id))
    .map(({ Id, Labels }) => sandboxRecord(Id, Labels));
}

async function measured(
  docker: Docker,
  { id, config }: SandboxRecord,
  own: readonly ContainerRecord[],
  call: Call,
): Promise<MeasuredPod> {
  const place = await docker.inventory.place("sandbox", id, call);
  const isHostNetwork = namespaceModes(config).network === NamespaceMode.NODE;
  const containers = await Promise.all(own.map((record) => measuredContainer(docker, record, call)));
  return {
    id,
    name: config.metadata?.name ?? "",
    namespace: config.metadata?.namespace ?? "",
    interfaces: isHostNetwork || !place ? undefined : networkCounters(place.pid),
    // Those that ended meanwhile have no place any more.
    containers: containers.filter((container) => container !== undefined),
  };
}

async function measuredContainer(
  docker: Docker,
  { id, config, imageRef }: ContainerRecord,
  call: Call,
): Promise<MeasuredContainer | undefined> {
  const place = await docker.inventory.place("container", id, call);
  if (!place) return undefined;
  const { State } = await docker.inventory.inspect("container", id, call);
  const { upperDir } = place;
  return {
    id,
    cgroup: place.cgroup,
    name: config.metadata?.name ?? "",
    image: config.image?.userSpecifiedImage || config.image?.image || imageRef,
    startedAt: BigInt(Date.parse(State.StartedAt)) * 1_000_000n,
    ...(upperDir ? { writableLayer: { path: upperDir, bytes: (await docker.disk.of(upperDir, call)).bytes } } : {}),
  };
}

async function runningRecords(docker: Docker, call: Call): Promise<ContainerRecord[]> {
  const found = await docker.inventory.list("container", call);
  return found.filter(({ State }) => State === "running").map(({ Id, Labels }) => containerRecord(Id, Labels));
}

async function running(
  docker: Docker,
  filter: ContainerStatsFilter | undefined,
  call: Call,
): Promise<ContainerStats[]> {
  const wanted = (await runningRecords(docker, call)).filter(({ id, sandboxId, config }) =>
    matchesContainerStats({ id, podSandboxId: sandboxId, labels: config.labels }, filter),
  );
  return Promise.all(wanted.map((record) => statsOf(docker, record, call)));
}

async function runningBySandbox(docker: Docker, call: Call): Promise<Map<string, ContainerStats[]>> {
  const all = new Map<string, ContainerStats[]>();
  for (const record of await runningRecords(docker, call)) {
    const stats = await statsOf(docker, record, call);
    all.set(record.sandboxId, [...(all.get(record.sandboxId) ?? []), stats]);
  }
  return all;
}

async function statsOf(docker: Docker, { id, config }: ContainerRecord, call: Call): Promise<ContainerStats> {
  const { metadata, labels, annotations } = config;
  const place = await docker.inventory.place("container", id, call);
  const at = nowNs(docker.clock);
  const used = place?.upperDir ? await docker.disk.of(place.upperDir, call) : undefined;
  return {
    attributes: { id, metadata, labels, annotations },
    cpu: place && cpuUsage(docker.cgroups, place.cgroup, at, docker.rates),
    memory: place && memoryUsage(docker.cgroups, place.cgroup, at),
    swap: place && swapUsage(docker.cgroups, place.cgroup, at),
    io: place && ioUsage(docker.cgroups, place.cgroup, at),
    writableLayer: used && {
      timestamp: at,
      fsId: { mountpoint: dirname(dirname(place?.upperDir ?? "/")) },
      usedBytes: { value: BigInt(used.bytes) },
      inodesUsed: { value: BigInt(used.inodes) },
    },
  };
}

async function statsOfPod(
  docker: Docker,
  { id, config }: SandboxRecord,
  containers: ContainerStats[],
  call: Call,
): Promise<PodSandboxStats> {
  const { metadata, labels, annotations } = config;
  const place = await docker.inventory.place("sandbox", id, call);
  const at = nowNs(docker.clock);
  const attributes = { id, metadata, labels, annotations };
  if (!place) return { attributes, linux: undefined, windows: undefined };
  // All containers of a pod are below one group.
  const group = dirname(place.cgroup);
  const isHostNetwork = namespaceModes(config).network === NamespaceMode.NODE;
  const interfaces = isHostNetwork ? [] : interfacesOf(networkCounters(place.pid));
  return {
    attributes,
    linux: {
      cpu: cpuUsage(docker.cgroups, group, at, docker.rates),
      memory: memoryUsage(docker.cgroups, group, at),
      network: isHostNetwork
        ? undefined
        : {
            timestamp: at,
            defaultInterface: interfaces.find(({ name }) => name === "eth0"),
            interfaces: interfaces.filter(({ name }) => name !== "eth0"),
          },
      process: { timestamp: at, processCount: { value: BigInt(await processCount(docker, containers, call)) } },
      containers,
      io: ioUsage(docker.cgroups, group, at),
    },
    windows: undefined,
  };
}

async function processCount(docker: Docker, containers: readonly ContainerStats[], call: Call): Promise<number> {
  const places = await Promise.all(
    containers.map(({ attributes }) => docker.inventory.place("container", attributes?.id ?? "", call)),
  );
  return places.reduce((sum, place) => sum + (place ? docker.cgroups.processes(place.cgroup).length : 0), 0);
}

function networkCounters(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/net/dev`, "utf8");
  } catch {
    // Ended between two looks.
    return "";
  }
}
