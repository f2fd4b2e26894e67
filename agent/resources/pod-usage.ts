// What pods use, as the runtime tells it, and how many processes they have, which it does not.

import type { Runtime } from "../../cri/api/contract.ts";
import { ListContainerStatsRequest } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/call.ts";
import { labels } from "../containers/identity.ts";
import type { PodUsage } from "./eviction-rank.ts";

export async function podUsage(
  runtime: Runtime["runtime"],
  processesOf: (podUid: string) => number,
  call: Call,
): Promise<Map<string, PodUsage>> {
  const { stats } = await runtime.listContainerStats(ListContainerStatsRequest.create({}), call);
  const usage = new Map<string, PodUsage>();
  for (const { attributes, memory, writableLayer } of stats) {
    const uid = attributes?.labels[labels.podUid];
    const name = attributes?.labels[labels.containerName];
    if (!uid || !name) continue;
    const memoryBytes = Number(memory?.workingSetBytes?.value ?? 0n);
    const diskBytes = Number(writableLayer?.usedBytes?.value ?? 0n);
    const inodes = Number(writableLayer?.inodesUsed?.value ?? 0n);
    const known = usage.get(uid);
    const containers = new Map(known?.containers);
    containers.set(name, { memoryBytes, diskBytes });
    usage.set(uid, {
      memoryBytes: (known?.memoryBytes ?? 0) + memoryBytes,
      diskBytes: (known?.diskBytes ?? 0) + diskBytes,
      inodes: (known?.inodes ?? 0) + inodes,
      processes: known?.processes ?? processesOf(uid),
      containers,
    });
  }
  return usage;
}
