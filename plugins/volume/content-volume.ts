// What the live-content volumes share: a directory (in memory where it must not reach the disk) that is written at mount and
// brought up to date on refresh.

import { mkdirSync } from "node:fs";
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
    const hasChanged = writeContent(request.path, content, request.fsGroup, options.clock.now());
    if (hasChanged && request.rootId !== undefined) applyOwner(request.path, request.rootId);
    if (hasChanged) applyGroup(request.path, request.fsGroup, { readOnly: true });
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

/** The object, or undefined where it is optional and not there. */
export async function orAbsent<T>(isOptional: boolean | undefined, look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    if (isOptional && isFault(error, "not-found")) return undefined;
    throw error;
  }
}
