// What the live-content volumes share: a directory (in memory where it must not reach the disk) that is written at mount and
// brought up to date on refresh.

import { chownSync, lchownSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../kit/call.ts";
import type { Clock } from "../kit/clock.ts";
import { isFault } from "../kit/fault.ts";
import type { Volume } from "../kit/objects/types.ts";
import type { VolumeMountRequest, VolumePlugin } from "../kit/volume.ts";
import { type Content, writeContent } from "./atomic-content.ts";
import { applyGroup, applyOwner } from "./ownership.ts";
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
    const content = await options.content(request, call);
    const { path, fsGroup, rootId } = request;
    const own = (fresh: string) => {
      if (rootId !== undefined) applyOwner(fresh, rootId);
      for (const [name, { owner }] of content)
        if (owner !== undefined) chownSync(join(fresh, name), (rootId ?? 0) + owner, rootId ?? 0);
      applyGroup(fresh, fsGroup, { readOnly: true });
    };
    const hasChanged = writeContent(path, content, { fsGroup, now: options.clock.now(), own });
    if (hasChanged && rootId !== undefined) ownLinks(path, rootId);
    if (hasChanged) applyGroup(path, fsGroup, { readOnly: true });
    return hasChanged;
  };
  return {
    name: options.name,
    supports: options.supports,
    async mount(request, call) {
      if (options.inMemory) mountTmpfs(request.path, { mode: 0o777 });
      else mkdirSync(request.path, { recursive: true, mode: 0o777 });
      await write(request, call);
    },
    refresh: write,
    async unmount(path) {
      removeVolume(path);
    },
  };
}

/** The directory and the links in it; what they lead to has its owners already. */
function ownLinks(directory: string, id: number): void {
  chownSync(directory, id, id);
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isSymbolicLink()) lchownSync(join(directory, entry.name), id, id);
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
