// Directories, logs, mounts and cgroups of pods that no longer exist in any form, left behind when the agent was killed.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Call, uninterrupted } from "../../plugins/kit/call.ts";
import type { Log } from "../../plugins/kit/log.ts";
import { uidOfLogDir } from "../containers/identity.ts";
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
    if (workers.get(uid)) continue;
    try {
      await volumes.unmountAll(uid, uninterrupted);
      await nodeResources.releasePod(uid, call);
      await rm(join(dirs.pods, uid), { recursive: true, force: true });
    } catch (error) {
      isComplete = false;
      log.warn({ uid, err: error }, "cannot remove what a pod left behind");
    }
  }
  for (const name of await readdir(dirs.logs)) {
    if (!workers.get(uidOfLogDir(name))) await rm(join(dirs.logs, name), { recursive: true, force: true });
  }
  return isComplete;
}
