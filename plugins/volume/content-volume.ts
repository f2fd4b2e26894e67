// What the live-content volumes share: a directory (in memory where it must not reach the disk) that is written at mount and
// brought up to date on refresh. Containers have it read-only.

import { mkdirSync } from "node:fs";
import type { Call } from "../kit/base/call.ts";
import type { Clock } from "../kit/base/clock.ts";
import { isFault } from "../kit/base/fault.ts";
import type { Volume } from "../kit/kube/objects/types.ts";
import { Folder } from "../kit/os/safe-files/folder.ts";
import type { VolumeMountRequest, VolumePlugin } from "../kit/contracts/volume.ts";
import { type Content, writeContent } from "./atomic-content.ts";
import { nestedMountPoints } from "./nested-mounts.ts";
import { mountTmpfs, removeVolume } from "./tmpfs.ts";

export interface ContentVolumeOptions {
  readonly name: string;
  readonly inMemory: boolean;
  readonly clock: Clock;
  supports(volume: Volume): boolean;
  content(request: VolumeMountRequest, call: Call): Promise<Content>;
}

export function contentVolume(options: ContentVolumeOptions): VolumePlugin {
  const write = async (request: VolumeMountRequest, call: Call): Promise<boolean> => {
    const { path, pod, volume, fsGroup, rootId } = request;
    const content = await options.content(request, call);
    const nested = nestedMountPoints(pod, volume.name);
    const keep = nested.map((point) => point.split("/")[0] ?? point);
    const hasChanged = await writeContent(path, content, { fsGroup, rootId, keep, now: options.clock.now() }, call);
    for (const point of nested) makeMountPoint(path, point);
    return hasChanged;
  };
  return {
    name: options.name,
    isReadOnly: true,
    supports: options.supports,
    async mount(request, call) {
      if (options.inMemory) mountTmpfs(request.path, { mode: 0o777 });
      else mkdirSync(request.path, { recursive: true, mode: 0o777 });
      await write(request, call);
    },
    refresh: async (request, call) => write(request, call),
    unmount: removeVolume,
  };
}

/** Where a file of the content or anything else has the name already, it is the mount point. */
function makeMountPoint(path: string, point: string): void {
  let folder = Folder.open(path);
  try {
    for (const part of point.split("/")) {
      const isTaken = folder.look(part)?.isDirectory() === false;
      if (isTaken) return;
      const next = folder.folder(part) ?? folder.makeFolder(part, { mode: 0o755, uid: 0, gid: 0 });
      folder.close();
      folder = next;
    }
  } finally {
    folder.close();
  }
}

/** The object, or undefined where it is optional and not there. */
export async function orAbsent<T>(isOptional: boolean | undefined, look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    if (isOptional && isFault(error, "not-found")) return undefined;
    throw error;
  }
}
