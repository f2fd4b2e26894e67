// Sub paths: a bind of one directory or file of a volume, made from a handle so that swapping a link in between changes nothing.

import { chmodSync, mkdirSync, statSync } from "node:fs";
import { basename, dirname, normalize } from "node:path";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { isMountPoint, mount, mountFlags, unmount } from "../../plugins/kit/os/platform/mount.ts";
import { closeHandle } from "../../plugins/kit/os/safe-files/calls.ts";
import { Folder } from "../../plugins/kit/os/safe-files/folder.ts";
import { openBeneath } from "../../plugins/kit/os/safe-files/open-beneath.ts";

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
    makeMountPoint(target, statSync(source).isDirectory());
    mount(source, target, null, mountFlags.bind | mountFlags.recursive);
    return target;
  } finally {
    closeHandle(handle);
  }
}

function makeMountPoint(target: string, isDirectory: boolean): void {
  if (isDirectory) return void mkdirSync(target, { recursive: true, mode: 0o750 });
  const parent = Folder.open(dirname(target));
  try {
    if (!parent.look(basename(target)))
      parent.makeFile(basename(target), new Uint8Array(), { mode: 0o640, uid: 0, gid: 0 });
  } finally {
    parent.close();
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}

const open = (root: string, path: string) => openBeneath(root, path, { followsLinks: true });

function openOrMake(root: string, path: string): number {
  try {
    return open(root, path);
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
  }
  // Whoever may write to the volume may write there too.
  const mode = statSync(root).mode & 0o7777;
  let done = "";
  for (const part of path.split("/")) {
    // Through the handle: what the parent's name means may have changed since.
    const parent = new Folder(open(root, done));
    try {
      if (!parent.look(part)) makeFolder(parent, part, mode);
    } finally {
      parent.close();
    }
    done = done === "" ? part : `${done}/${part}`;
  }
  return open(root, path);
}

/** The mode apart from making it: the umask takes bits away then, and the group's bit is not taken at all. */
function makeFolder(parent: Folder, name: string, mode: number): void {
  const made = parent.makeFolder(name);
  try {
    chmodSync(made.path, mode);
  } finally {
    made.close();
  }
}

/** Takes the bind and its empty placeholder away; nothing there is fine. */
export function removeBind(target: string): void {
  unmount(target);
  let parent: Folder;
  try {
    parent = Folder.open(dirname(target));
  } catch (error) {
    if (isFault(error, "not-found")) return;
    throw error;
  }
  try {
    if (parent.look(basename(target))?.isDirectory()) parent.removeFolder(basename(target));
    else parent.removeFile(basename(target));
  } finally {
    parent.close();
  }
}
