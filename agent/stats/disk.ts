// How much folders take on disk, kept for a while: a walk is slow, and nobody needs it to the second.

import { statfs } from "node:fs/promises";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { FileSystemUse } from "../../plugins/kit/os/platform/file-system-use.ts";
import { folderUsage } from "../../plugins/kit/os/safe-files/folder-usage.ts";

export interface DiskUse {
  readonly at: number;
  readonly bytes: number;
  readonly inodes: number;
}

const keepMs = 60_000;
// A walk may take this part of the time at most, however large the folder is.
const walkShare = 20;

interface Kept {
  use: DiskUse | undefined;
  until: number;
  walking: Promise<DiskUse> | undefined;
}

export class Disk {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As du counts it. An older number is given while a new one is made. */
  async of(path: string): Promise<DiskUse> {
    const kept: Kept = this.#kept.get(path) ?? { use: undefined, until: 0, walking: undefined };
    this.#kept.set(path, kept);
    if (kept.use && kept.until > this.#clock.monotonic()) return kept.use;
    kept.walking ??= this.#walk(path, kept);
    return kept.use ?? kept.walking;
  }

  /** Forgets all but these folders. */
  retain(paths: ReadonlySet<string>): void {
    for (const path of this.#kept.keys()) if (!paths.has(path)) this.#kept.delete(path);
  }

  async #walk(path: string, kept: Kept): Promise<DiskUse> {
    const startedAt = this.#clock.monotonic();
    const counted = await folderUsage(path, uninterrupted);
    const endedAt = this.#clock.monotonic();
    kept.use = { at: this.#clock.now(), ...counted };
    kept.until = endedAt + Math.max(keepMs, (endedAt - startedAt) * walkShare);
    kept.walking = undefined;
    return kept.use;
  }
}

/** Of a file system of this machine. */
export async function fileSystemAt(path: string): Promise<FileSystemUse | undefined> {
  try {
    const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
    return {
      capacityBytes: bsize * blocks,
      availableBytes: bsize * bavail,
      usedBytes: bsize * (blocks - bfree),
      inodes: files,
      inodesFree: ffree,
      inodesUsed: files - ffree,
    };
  } catch {
    return undefined;
  }
}
