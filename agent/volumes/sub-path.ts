// Sub paths: a bind of one directory or file of a volume, made from a handle so that swapping a link in between changes nothing.

import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, rmdirSync, statSync, unlinkSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Fault, isFault } from "../../plugins/kit/fault.ts";
import {
  closeHandle,
  isMountPoint,
  mount,
  mountFlags,
  openBeneath,
  unmount,
} from "../../plugins/kit/platform/mount.ts";

/** Binds `subPath` of the volume at `target` and returns the target. Makes missing directories, one checked step at a time. */
export function bindSubPath(volumeRoot: string, subPath: string, target: string): string {
  if (subPath.startsWith("/") || subPath.split("/").includes("..")) {
    throw new Fault("invalid", `Cannot use sub path "${subPath}": it must be relative and must not contain ".."`);
  }
  const handle = openOrMake(volumeRoot, normalize(subPath));
  try {
    const source = `/proc/self/fd/${handle}`;
    if (isMountPoint(target)) {
      if (isSame(source, target)) return target;
      // Made for an earlier start of the container: the file was replaced since, as those of config maps are, or another path is asked for.
      removeBind(target);
    }
    mkdirSync(dirname(target), { recursive: true, mode: 0o750 });
    if (statSync(source).isDirectory()) mkdirSync(target, { recursive: true, mode: 0o750 });
    else closeSync(openSync(target, "a", 0o640));
    mount(source, target, null, mountFlags.bind | mountFlags.recursive);
    return target;
  } finally {
    closeHandle(handle);
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}

function openOrMake(root: string, path: string): number {
  try {
    return openBeneath(root, path);
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
  }
  // Whoever may write to the volume may write there too.
  const mode = statSync(root).mode & 0o7777;
  let done = "";
  for (const part of path.split("/")) {
    const parent = openBeneath(root, done);
    try {
      // Through the handle: what the parent's name means may have changed since.
      mkdirSync(join(`/proc/self/fd/${parent}`, part));
      setMode(root, done === "" ? part : `${done}/${part}`, mode);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      closeHandle(parent);
    }
    done = done === "" ? part : `${done}/${part}`;
  }
  return openBeneath(root, path);
}

/** Apart from making it: the umask takes bits away then, and the group's bit is not taken at all. */
function setMode(root: string, path: string, mode: number): void {
  const handle = openBeneath(root, path);
  try {
    chmodSync(`/proc/self/fd/${handle}`, mode);
  } finally {
    closeHandle(handle);
  }
}

/** Takes the bind and its empty placeholder away; nothing there is fine. */
export function removeBind(target: string): void {
  unmount(target);
  const found = lstatSync(target, { throwIfNoEntry: false });
  if (found?.isDirectory()) rmdirSync(target);
  else if (found) unlinkSync(target);
}
