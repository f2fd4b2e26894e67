// Gives the files of a tree to a group, by handles. What is changed is what was looked at: a file that is swapped for a link to the host
// meanwhile leaves the host's file alone.

import { lstatSync, type Stats, statSync } from "node:fs";
import { chmod, chown, lchown } from "node:fs/promises";
import type { Call } from "../../base/call.ts";
import { closeHandle, openEntry } from "./calls.ts";
import { isMissing, withFolder } from "./folder.ts";
import { isFault } from "../../base/fault.ts";
import { type TreeEntry, walkTree } from "./walk-tree.ts";

const setGid = 0o2000;
const groupEnters = 0o110;

export interface GroupOptions {
  /** Files are readable for the group, not writable. */
  readonly isReadOnly?: boolean;
  /** A tree whose root has group and mode already is left alone (`fsGroupChangePolicy: OnRootMismatch`). */
  readonly onlyOnMismatch?: boolean;
}

/** The root is changed last: a walk that was interrupted is repeated. A file instead of a directory is changed alone. */
export async function giveToGroup(path: string, group: number, options: GroupOptions, call: Call): Promise<void> {
  const bits = options.isReadOnly ? 0o440 : 0o660;
  if (!lstatSync(path).isDirectory()) return giveFile(path, group, bits);
  await withFolder(path, async (root) => {
    if (options.onlyOnMismatch && isGiven(root.stats(), group, bits)) return;
    await walkTree(root, { visit: (entry) => giveEntry(entry, group, bits), crossesMounts: true }, call);
    await change(root.path, root.stats(), group, bits);
  });
}

function isGiven(root: Stats, group: number, bits: number): boolean {
  const wanted = bits | groupEnters | setGid;
  return root.gid === group && (root.mode & wanted) === wanted;
}

async function giveFile(path: string, group: number, bits: number): Promise<void> {
  const handle = openEntry(-100, path);
  try {
    await changeHandle(handle, group, bits);
  } finally {
    closeHandle(handle);
  }
}

async function giveEntry({ parent, name, stats, folder }: TreeEntry, group: number, bits: number): Promise<void> {
  if (folder) return change(folder.path, folder.stats(), group, bits);
  if (stats.isSymbolicLink()) {
    await lchown(parent.at(name), stats.uid, group).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    return;
  }
  let handle: number;
  try {
    handle = openEntry(parent.handle, name);
  } catch (error) {
    if (isFault(error, "not-found")) return;
    throw error;
  }
  try {
    await changeHandle(handle, group, bits);
  } finally {
    closeHandle(handle);
  }
}

async function changeHandle(handle: number, group: number, bits: number): Promise<void> {
  const path = `/proc/self/fd/${handle}`;
  const stats = statSync(path);
  // Swapped for a link since: whoever did that wants something else changed.
  if (!stats.isSymbolicLink()) await change(path, stats, group, bits);
}

/** `path` is one of /proc/self/fd, which leads to the open file itself. */
async function change(path: string, stats: Stats, group: number, bits: number): Promise<void> {
  const mode = (stats.mode & 0o7777) | bits | (stats.isDirectory() ? setGid | groupEnters : 0);
  if (stats.gid !== group) await chown(path, stats.uid, group);
  // After the change of owner, which clears setuid and setgid bits.
  if (stats.gid !== group || mode !== (stats.mode & 0o7777)) await chmod(path, mode);
}
