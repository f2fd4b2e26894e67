// Who owns the files of a volume. fsGroup: they belong to the pod's group, are writable by it, and new ones inherit it.

import type { Call } from "../kit/base/call.ts";
import { giveToGroup } from "../kit/os/safe-files/own-tree.ts";
import type { VolumeMountRequest } from "../kit/contracts/volume.ts";

/** Once, when the volume is first mounted for the pod: later the files are its containers'. */
export async function applyFsGroup(path: string, request: VolumeMountRequest, call: Call): Promise<void> {
  const { fsGroup, fsGroupChangePolicy, isMounted } = request;
  if (fsGroup === undefined || isMounted) return;
  await giveToGroup(path, fsGroup, { onlyOnMismatch: fsGroupChangePolicy === "OnRootMismatch" }, call);
}
