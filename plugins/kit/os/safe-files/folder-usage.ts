// How much a directory takes on disk, counted as du counts it: blocks, its own included, and a hard link once. Other mounts below are left
// out. What vanishes meanwhile, or cannot be read, counts as nothing.

import { lstatSync, type Stats } from "node:fs";
import type { Call } from "../../base/call.ts";
import { Folder } from "./folder.ts";
import { walkTree } from "./walk-tree.ts";

export interface FolderUsage {
  readonly bytes: number;
  readonly inodes: number;
}

const blockBytes = 512;

/** Also of a single file. Zero when it is gone. The path's parent directories must be the agent's own. */
export async function folderUsage(path: string, call: Call): Promise<FolderUsage> {
  let bytes = 0;
  let inodes = 0;
  const linked = new Set<number>();
  const add = (stats: Stats) => {
    if (linked.has(stats.ino)) return;
    if (!stats.isDirectory() && stats.nlink > 1) linked.add(stats.ino);
    bytes += stats.blocks * blockBytes;
    inodes++;
  };
  let root: Folder | undefined;
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found?.isDirectory()) {
      if (found) add(found);
      return { bytes, inodes };
    }
    root = Folder.open(path);
    add(root.stats());
    await walkTree(root, { visit: ({ stats }) => add(stats) }, call);
  } catch {
    call.signal.throwIfAborted();
    // Counted as far as it went.
  } finally {
    root?.close();
  }
  return { bytes, inodes };
}
