// Directories, logs, mounts and cgroups of pods that no longer exist in any form, left behind when the agent was killed.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { removeTree } from "../../plugins/kit/os/safe-files/remove-tree.ts";
import { uidOfLogDir } from "../model/identity.ts";
import type { AgentResources } from "../resources/node-resources.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import type { PodWorkers } from "./pod-workers.ts";

/** Complete even where one pod's rest cannot be removed: that is told, and the answer is false. */
export async function removeLeftovers(
  dirs: { readonly pods: string; readonly logs: string },
  workers: PodWorkers,
  volumes: VolumeManager,
  nodeResources: AgentResources,
  log: Log,
  call: Call,
): Promise<boolean> {
  const onDisk = new Set([
    ...(await readdir(dirs.pods)),
    ...(await volumes.podsWithVolumes(call)),
    ...nodeResources.podsWithCgroups(),
  ]);
  nodeResources.devices.retain(new Set(workers.list().map(({ metadata }) => metadata.uid)));
  let isComplete = true;
  for (const uid of onDisk) {
    if (workers.isKnown(uid)) continue;
    try {
      await volumes.unmountAll(uid, uninterrupted);
      await nodeResources.releasePod(uid, call);
      await removeTree(join(dirs.pods, uid), uninterrupted);
    } catch (error) {
      isComplete = false;
      log.warn({ uid, err: error }, "cannot remove what a pod left behind");
    }
  }
  for (const name of await readdir(dirs.logs)) {
    if (!workers.isKnown(uidOfLogDir(name))) await removeTree(join(dirs.logs, name), uninterrupted);
  }
  return isComplete;
}
