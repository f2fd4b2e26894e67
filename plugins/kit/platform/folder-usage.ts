// How much a folder takes on disk, counted as du counts it: blocks, its own included, and a hard link once. What vanishes meanwhile, or
// cannot be read, counts as nothing.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "../call.ts";

export interface FolderUsage {
  readonly bytes: number;
  readonly inodes: number;
}

const blockBytes = 512;

/** Also of a single file. Zero when it is gone. */
export async function folderUsage(root: string, call: Call): Promise<FolderUsage> {
  let bytes = 0;
  let inodes = 0;
  const linked = new Set<number>();
  const queue = [root];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    call.signal.throwIfAborted();
    const found = await lstat(path).catch(() => undefined);
    if (!found || linked.has(found.ino)) continue;
    bytes += found.blocks * blockBytes;
    inodes++;
    if (!found.isDirectory()) {
      if (found.nlink > 1) linked.add(found.ino);
      continue;
    }
    for (const name of await readdir(path).catch(() => [])) queue.push(join(path, name));
  }
  return { bytes, inodes };
}
