// The Summary API's document: what node, pods and containers use, in upstream's words.

import type { Pressure, PressureLine } from "../../plugins/kit/os/pressure.ts";
import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";
import { apiTime } from "../model/times.ts";
import type { FileSystemUse } from "../../plugins/kit/os/platform/file-system-use.ts";
import type { DiskUse } from "./disk.ts";
import type { NodeDisk, PodDisk } from "./disk-view.ts";
import type { InterfaceCounters } from "./net-dev.ts";
import type { ContainerUsage, PodUsage, Snapshot } from "./usage.ts";

export interface SummaryFacts {
  readonly nodeName: string;
  /** When the machine was started, by wall time in milliseconds. */
  readonly startedAt: number;
  readonly defaultInterface: string;
}

/** Without `disk` it holds CPU and memory alone. */
export function summary(snapshot: Snapshot, disk: NodeDisk | undefined, facts: SummaryFacts): object {
  const { node, pods } = snapshot;
  const time = apiTime(node.at);
  const { memory } = node;
  return {
    node: {
      nodeName: facts.nodeName,
      systemContainers: [podsTogether(snapshot, facts), ownProcess(node.at, time)],
      startTime: apiTime(facts.startedAt),
      cpu: {
        time,
        ...rate(snapshot.nodeNanoCores),
        usageCoreNanoSeconds: Number(node.cpuNs.total),
        ...psiIn(node.pressure, "cpu"),
      },
      memory: {
        time,
        availableBytes: memory.totalBytes - memory.workingSetBytes,
        usageBytes: memory.usageBytes,
        workingSetBytes: memory.workingSetBytes,
        rssBytes: memory.rssBytes,
        pageFaults: memory.pageFaults,
        majorPageFaults: memory.majorPageFaults,
        ...psiIn(node.pressure, "memory"),
      },
      ...(node.pressure.io ? { io: { time, psi: psiOf(node.pressure.io) } } : {}),
      swap: {
        time,
        swapAvailableBytes: memory.swapTotalBytes - memory.swapUsedBytes,
        swapUsageBytes: memory.swapUsedBytes,
      },
      ...(disk
        ? {
            network: networkOf(node.interfaces, time, facts.defaultInterface),
            fs: fileSystem(disk.node, time),
            runtime: {
              imageFs: { ...fileSystem(disk.images, time), usedBytes: disk.imageBytes },
              containerFs: fileSystem(disk.images, time),
            },
            rlimit: { time, maxpid: node.mostProcesses, curproc: node.processes },
          }
        : {}),
    },
    pods: pods.map((pod) => podSummary(pod, disk, disk?.pods.get(pod.pod.metadata.uid))),
  };
}

function podSummary(usage: PodUsage, node: NodeDisk | undefined, disk: PodDisk | undefined): object {
  const { pod, sample, network, containers } = usage;
  const { name, namespace, uid } = pod.metadata;
  const time = apiTime(sample.at);
  return {
    podRef: { name, namespace, uid },
    startTime: pod.status?.startTime ?? pod.metadata.creationTimestamp ?? null,
    containers: containers.map((container) => containerSummary(container, node, disk)),
    ...cpuAndMemory(sample, usage.nanoCores),
    ...(network && disk ? { network: networkOf(network, time, "eth0") } : {}),
    ...(disk
      ? {
          volume: disk.volumes.map((volume) => ({
            ...fileSystem(volume.fileSystem, apiTime(volume.at)),
            usedBytes: volume.bytes,
            inodesUsed: volume.inodes,
            name: volume.name,
            ...claimOf(usage, volume.name),
          })),
          "ephemeral-storage": ephemeral(usage, node, disk, time),
          process_stats: { process_count: containers.reduce((sum, one) => sum + (one.sample.processes ?? 0), 0) },
        }
      : {}),
  };
}

function containerSummary(
  { container, sample, nanoCores }: ContainerUsage,
  node: NodeDisk | undefined,
  disk: PodDisk | undefined,
): object {
  const root = disk?.roots.get(container.id);
  const logs = disk?.logs.get(container.id);
  return {
    name: container.name,
    startTime: apiTime(container.startedAt),
    ...cpuAndMemory(sample, nanoCores),
    ...(root
      ? { rootfs: { ...fileSystem(node?.images, apiTime(sample.at)), usedBytes: root.bytes, inodesUsed: root.inodes } }
      : {}),
    ...(logs
      ? { logs: { ...fileSystem(node?.node, apiTime(logs.at)), usedBytes: logs.bytes, inodesUsed: logs.inodes } }
      : {}),
  };
}

function cpuAndMemory({ at, cpu, memory, pressure }: CgroupSample, nanoCores: number | undefined): object {
  const time = apiTime(at);
  return {
    cpu: { time, ...rate(nanoCores), usageCoreNanoSeconds: Number(cpu?.usageNs ?? 0n), ...psiIn(pressure, "cpu") },
    memory: memory
      ? {
          time,
          ...(memory.limitBytes === undefined
            ? {}
            : { availableBytes: Math.max(0, memory.limitBytes - memory.workingSetBytes) }),
          usageBytes: memory.usageBytes,
          workingSetBytes: memory.workingSetBytes,
          rssBytes: memory.rssBytes,
          pageFaults: memory.pageFaults ?? 0,
          majorPageFaults: memory.majorPageFaults ?? 0,
          ...psiIn(pressure, "memory"),
        }
      : { time },
    ...(memory?.swapBytes === undefined ? {} : { swap: { time, swapUsageBytes: memory.swapBytes } }),
    ...(pressure?.io ? { io: { time, psi: psiOf(pressure.io) } } : {}),
  };
}

function psiIn(pressure: CgroupSample["pressure"], kind: "cpu" | "memory"): object {
  return pressure?.[kind] ? { psi: psiOf(pressure[kind]) } : {};
}

/** Totals in nanoseconds. */
export function psiOf(pressure: Pressure): object {
  const line = ({ avg10, avg60, avg300, totalUs }: PressureLine) => ({ total: totalUs * 1000, avg10, avg60, avg300 });
  return { full: line(pressure.full), some: line(pressure.some) };
}

const rate = (nanoCores: number | undefined) => (nanoCores === undefined ? {} : { usageNanoCores: nanoCores });

function networkOf(interfaces: readonly InterfaceCounters[], time: string, chosen: string): object {
  const shown = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
  const first = shown.find(({ name }) => name === chosen) ?? shown[0];
  return { time, ...first, interfaces: shown };
}

function fileSystem(use: FileSystemUse | undefined, time: string): object {
  return { time, ...use };
}

function claimOf({ pod }: PodUsage, volume: string): object {
  const source = pod.spec.volumes?.find(({ name }) => name === volume)?.persistentVolumeClaim;
  return source ? { pvcRef: { name: source.claimName, namespace: pod.metadata.namespace } } : {};
}

/** What the pod takes of the node's own disk: roots, logs, and volumes that live there. */
function ephemeral({ pod, containers }: PodUsage, node: NodeDisk | undefined, disk: PodDisk, time: string): object {
  const local = new Set(
    (pod.spec.volumes ?? [])
      .filter(({ persistentVolumeClaim, hostPath, nfs }) => !persistentVolumeClaim && !hostPath && !nfs)
      .map(({ name }) => name),
  );
  const parts: Pick<DiskUse, "bytes" | "inodes">[] = disk.volumes.filter(({ name }) => local.has(name));
  for (const { container } of containers) {
    const own = [disk.roots.get(container.id), disk.logs.get(container.id)];
    for (const part of own) if (part) parts.push(part);
  }
  return {
    ...fileSystem(node?.node, time),
    usedBytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    inodesUsed: parts.reduce((sum, { inodes }) => sum + inodes, 0),
  };
}

function podsTogether({ at, pods }: Snapshot, { startedAt }: SummaryFacts): object {
  const time = apiTime(at);
  const since = pods.map(({ pod }) => Date.parse(String(pod.status?.startTime ?? ""))).filter((ms) => ms > 0);
  const total = (of: (sample: CgroupSample) => number) => pods.reduce((sum, { sample }) => sum + of(sample), 0);
  return {
    name: "pods",
    startTime: apiTime(since.length > 0 ? Math.min(...since) : startedAt),
    cpu: {
      time,
      usageNanoCores: pods.reduce((sum, { nanoCores }) => sum + (nanoCores ?? 0), 0),
      usageCoreNanoSeconds: total(({ cpu }) => Number(cpu?.usageNs ?? 0n)),
    },
    memory: {
      time,
      usageBytes: total(({ memory }) => memory?.usageBytes ?? 0),
      workingSetBytes: total(({ memory }) => memory?.workingSetBytes ?? 0),
      rssBytes: total(({ memory }) => memory?.rssBytes ?? 0),
    },
  };
}

function ownProcess(at: number, time: string): object {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  return {
    name: "kubelet",
    startTime: apiTime(at - process.uptime() * 1000),
    cpu: { time, usageCoreNanoSeconds: (user + system) * 1000 },
    memory: { time, usageBytes: rss, workingSetBytes: rss, rssBytes: rss },
  };
}
