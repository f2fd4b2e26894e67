// How much a directory tree takes on disk, counted as du counts it; a file that vanishes meanwhile counts as nothing.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

const blockBytes = 512;

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

export async function diskUsage(path: string): Promise<DiskUsage> {
  try {
    const found = await lstat(path);
    let bytes = found.blocks * blockBytes;
    let inodes = 1;
    if (found.isDirectory()) {
      for (const name of await readdir(path)) {
        const below = await diskUsage(join(path, name));
        bytes += below.bytes;
        inodes += below.inodes;
      }
    }
    return { bytes, inodes };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { bytes: 0, inodes: 0 };
    throw error;
  }
}
