// Who owns the files of a volume. fsGroup: they belong to the pod's group, are writable by it, and new ones inherit it.

import { chmodSync, chownSync, lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

const setGid = 0o2000;

/**
 * Gives the tree to the group. With policy `OnRootMismatch` a tree whose root is right already is left alone. Links are owned,
 * never followed.
 */
export function applyGroup(
  root: string,
  group: number | undefined,
  options: { policy?: string; readOnly?: boolean } = {},
): void {
  if (group === undefined) return;
  const wanted = options.readOnly ? 0o440 : 0o660;
  if (options.policy === "OnRootMismatch" && isRight(root, group, wanted)) return;
  give(root, group, wanted);
}

/** Gives the tree to a pod's root. Modes stay; links are owned, never followed. */
export function applyOwner(path: string, id: number): void {
  const found = lstatSync(path);
  lchownSync(path, id, id);
  // chown clears setuid and setgid bits.
  if (!found.isSymbolicLink()) chmodSync(path, found.mode & 0o7777);
  if (found.isDirectory()) for (const name of readdirSync(path)) applyOwner(join(path, name), id);
}

function isRight(path: string, group: number, wanted: number): boolean {
  const found = lstatSync(path);
  return found.gid === group && (found.mode & wanted) === wanted && (found.mode & setGid) !== 0;
}

function give(path: string, group: number, wanted: number): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return lchownSync(path, found.uid, group);
  chownSync(path, found.uid, group);
  const isDirectory = found.isDirectory();
  // chown clears setuid and setgid bits: set the mode after it.
  chmodSync(path, (found.mode & 0o7777) | wanted | (isDirectory ? setGid | 0o110 : 0));
  if (isDirectory) for (const name of readdirSync(path)) give(join(path, name), group, wanted);
}
