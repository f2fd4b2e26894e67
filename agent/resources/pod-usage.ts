// What pods use: memory and root file systems as the runtime tells, logs and local volumes as they lie on the node's disk, processes from
// their cgroups.

import type { Runtime } from "../../cri/api/contract.ts";
import { type ContainerStats, ListContainerStatsRequest } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { labels, podLogDir } from "../model/identity.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import { folderUsage } from "../../plugins/kit/os/safe-files/folder-usage.ts";
import type { ContainerUse, PodUsage } from "./eviction-rank.ts";

export interface PodUsageSources {
  readonly runtime: Pick<Runtime["runtime"], "listContainerStats">;
  readonly volumes: Pick<VolumeManager, "localUsage">;
  /** Below which the pods' log folders are. */
  readonly logsDir: string;
  readonly processesOf: (podUid: string) => number;
}

/** Walks the folders of these pods: ask for no more of them than you must know. */
export async function podUsage(
  sources: PodUsageSources,
  pods: readonly AgentPod[],
  call: Call,
): Promise<Map<string, PodUsage>> {
  const { stats } = await sources.runtime.listContainerStats(ListContainerStatsRequest.create({}), call);
  const statsByUid = Map.groupBy(stats, ({ attributes }) => attributes?.labels[labels.podUid] ?? "");
  const usage = new Map<string, PodUsage>();
  for (const pod of pods) {
    const { uid } = pod.metadata;
    usage.set(uid, await usageOf(sources, pod, statsByUid.get(uid) ?? [], call));
  }
  return usage;
}

async function usageOf(
  { volumes, logsDir, processesOf }: PodUsageSources,
  pod: AgentPod,
  stats: readonly ContainerStats[],
  call: Call,
): Promise<PodUsage> {
  const containers = new Map<string, ContainerUse>();
  const local = await volumes.localUsage(pod, call);
  let { inodes } = local;
  for (const { attributes, memory, writableLayer } of stats) {
    const name = attributes?.labels[labels.containerName];
    if (!name) continue;
    const logs = await folderUsage(`${podLogDir(logsDir, pod.metadata)}/${name}`, call);
    const rootBytes = Number(writableLayer?.usedBytes?.value ?? 0n);
    inodes += logs.inodes + Number(writableLayer?.inodesUsed?.value ?? 0n);
    const memoryBytes = Number(memory?.workingSetBytes?.value ?? 0n);
    containers.set(name, { memoryBytes, rootBytes, logBytes: logs.bytes });
  }
  const sum = (of: keyof ContainerUse) => [...containers.values()].reduce((total, use) => total + use[of], 0);
  return {
    memoryBytes: sum("memoryBytes"),
    rootBytes: sum("rootBytes"),
    localBytes: sum("logBytes") + local.bytes,
    inodes,
    processes: processesOf(pod.metadata.uid),
    containers,
  };
}
