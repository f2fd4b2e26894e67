// StopPodSandbox and RemovePodSandbox: everything a sandbox holds, let go in reverse order. Works after a restart with nothing but
// the record, and may be called again after a failure.

import { join } from "node:path";
import { ContainerEventType } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { removeTree } from "../../../plugins/kit/os/safe-files/remove-tree.ts";
import { unmount } from "../kernel/mounts.ts";
import { releaseNamespaces } from "../kernel/namespaces.ts";
import { killContainer, removeContainer } from "../containers/container-end.ts";
import type { Native } from "../native.ts";
import { stopHolder } from "./pid-holder.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { attachment } from "./sandbox-network.ts";

export async function stopSandbox(native: Native, id: string, call: Call): Promise<void> {
  const record = native.sandboxes.find(id);
  if (!record) return;
  await native.locks.run(record.id, async () => {
    const own = native.containers.list().filter(({ sandboxId }) => sandboxId === record.id);
    await Promise.all(own.map((container) => killContainer(native, container, call)));
    await dismantleSandbox(native, record, call);
    if (record.phase === "stopped") return;
    record.phase = "stopped";
    native.sandboxes.save(record);
    native.events.emit({ id: record.id, sandboxId: record.id, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
  });
}

export async function removeSandbox(native: Native, id: string, call: Call): Promise<void> {
  const record = native.sandboxes.find(id);
  if (!record) return;
  await stopSandbox(native, record.id, call);
  for (const container of native.containers.list()) {
    if (container.sandboxId === record.id) await removeContainer(native, container.id, call);
  }
  if (!native.sandboxes.find(record.id)) return;
  await removeTree(native.paths.sandbox(record.id));
  if (!record.config.linux?.cgroupParent) native.cgroups.remove(`${native.paths.defaultCgroup}/${record.id}`);
  native.events.emit({ id: record.id, sandboxId: record.id, type: ContainerEventType.CONTAINER_DELETED_EVENT });
  await native.sandboxes.forget(record.id);
}

/** Frees addresses first, then namespaces, then files. */
export function dismantleSandbox(native: Native, record: SandboxRecord, call: Call): Promise<void> {
  return native.clearing.run(() => dismantle(native, record, call));
}

async function dismantle(native: Native, record: SandboxRecord, call: Call): Promise<void> {
  if (record.isAttached) {
    await native.network.del(attachment(native, record), call);
    record.isAttached = false;
    native.sandboxes.save(record);
  }
  if (record.holder) await stopHolder(record.holder);
  releaseNamespaces(native.paths.namespaces(record.id));
  const folder = native.paths.sandbox(record.id);
  unmount(join(folder, "shm"));
  await removeTree(folder);
}
