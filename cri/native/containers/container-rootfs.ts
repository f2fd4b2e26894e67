// A container's root file system: the image's layers under a writable folder of its own, joined by overlayfs. With a user namespace
// the layers are mounted with their owners shifted, so that they stay shared with every other container.

import { chownSync, lstatSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { bind, libc, LibcError } from "../kernel/libc.ts";
import { bindMount, mountFlags, mountOverlay, unmount } from "../kernel/mounts.ts";

export interface RootfsRequest {
  /** The container's folder. */
  readonly folder: string;
  /** Layer folders, lowest first. */
  readonly layers: readonly string[];
  /** A user namespace whose mapping the files shall show, with the host's id of its root. */
  readonly user?: { readonly fd: number; readonly rootUid: number; readonly rootGid: number };
}

export function mountRootfs({ folder, layers, user }: RootfsRequest): void {
  const target = join(folder, "rootfs");
  const upper = join(folder, "upper");
  const work = join(folder, "work");
  for (const path of [target, upper, work]) mkdirSync(path, { recursive: true, mode: 0o755 });
  // An image without layers is legal; overlayfs wants at least one.
  const empty = join(folder, "empty");
  if (layers.length === 0) mkdirSync(empty, { recursive: true, mode: 0o755 });
  const lower = layers.length === 0 ? [empty] : [...layers].reverse();
  copyRootAttributes(lower[0] as string, upper, user);
  if (!user) return mountOverlay({ lower, upper, work, target });
  chownSync(work, user.rootUid, user.rootGid);
  const shifted: string[] = [];
  try {
    for (const [at, layer] of lower.entries()) {
      const path = join(folder, `shifted-${at}`);
      mkdirSync(path, { recursive: true });
      shifted.push(path);
      mountShifted(layer, path, user.fd);
    }
    mountOverlay({ lower: shifted, upper, work, target });
  } finally {
    // Overlayfs holds its own references from here on.
    for (const path of shifted) {
      unmount(path);
      rmdirSync(path);
    }
  }
}

/** The topmost layer decides who owns "/" and who may enter it. */
function copyRootAttributes(from: string, to: string, user: RootfsRequest["user"]): void {
  const found = lstatSync(from);
  mkdirSync(to, { recursive: true });
  chownSync(to, found.uid + (user?.rootUid ?? 0), found.gid + (user?.rootGid ?? 0));
  // Mode last: a change of owner may clear bits of it.
  bind("int chmod(const char *path, unsigned int mode)")(to, found.mode & 0o7777);
}

const cloneTree = 1;
const emptyPath = 0x1000;
const closeOnExec = 0o2000000;
const attributeIdMap = 0x100000n;
const moveFromEmptyPath = 0x4;
const hereFd = -100;
const calls = { openTree: 428, moveMount: 429, mountSetattr: 442 };

/** Mounts a folder elsewhere with the owners of its files shifted by a user namespace's mapping. */
function mountShifted(source: string, target: string, userFd: number): void {
  const check = (name: string, result: number) => {
    if (result < 0) throw new LibcError(`${name} ${source} (mounts with shifted owners need Linux 5.19)`, 0);
    return result;
  };
  const openTree = bind("long syscall(long number, int fd, const char *path, unsigned int flags)");
  const tree = check("open_tree", openTree(calls.openTree, hereFd, source, cloneTree | closeOnExec));
  try {
    const attributes = Buffer.alloc(32);
    attributes.writeBigUInt64LE(attributeIdMap, 0);
    attributes.writeBigUInt64LE(BigInt(userFd), 24);
    const setattr = bind(
      "long syscall(long number, int fd, const char *path, unsigned int flags, void *attributes, size_t size)",
    );
    check("mount_setattr", setattr(calls.mountSetattr, tree, "", emptyPath, attributes, attributes.length));
    const move = bind(
      "long syscall(long number, int from, const char *fromPath, int to, const char *toPath, unsigned int flags)",
    );
    check("move_mount", move(calls.moveMount, tree, "", hereFd, target, moveFromEmptyPath));
  } finally {
    libc.close(tree);
  }
}

/** Mounts an image read-only, for a volume that is an image. */
export function mountImage(layers: readonly string[], target: string): void {
  mkdirSync(target, { recursive: true, mode: 0o755 });
  const [only] = layers;
  if (layers.length === 1 && only) {
    bindMount(only, target);
    libc.mount("none", target, null, mountFlags.bind | mountFlags.remount | mountFlags.readOnly, null);
    return;
  }
  mountOverlay({ lower: [...layers].reverse(), target });
}
