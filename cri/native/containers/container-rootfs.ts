// A container's root file system: the image's layers under a writable folder of its own, joined by overlayfs. With a user namespace
// the layers are mounted with their owners shifted, so that they stay shared with every other container.

import { chownSync, lstatSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { bind, libc } from "../kernel/libc.ts";
import { bindMount, mountFlags, mountOverlay, unmount } from "../kernel/mounts.ts";
import { mountShifted } from "../kernel/shifted-mount.ts";

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
  withShifted(folder, lower, user.fd, (shifted) => mountOverlay({ lower: shifted, upper, work, target }));
}

/** The topmost layer decides who owns "/" and who may enter it. */
function copyRootAttributes(from: string, to: string, user: RootfsRequest["user"]): void {
  const found = lstatSync(from);
  mkdirSync(to, { recursive: true });
  chownSync(to, found.uid + (user?.rootUid ?? 0), found.gid + (user?.rootGid ?? 0));
  // Mode last: a change of owner may clear bits of it.
  bind("int chmod(const char *path, unsigned int mode)")(to, found.mode & 0o7777);
}

/** Layers as the user namespace sees them, while the work needs them: overlayfs holds its own references. */
function withShifted(
  folder: string,
  layers: readonly string[],
  userFd: number,
  work: (shifted: string[]) => void,
): void {
  const shifted: string[] = [];
  try {
    for (const [at, source] of layers.entries()) {
      const target = join(folder, `shifted-${at}`);
      mkdirSync(target, { recursive: true });
      shifted.push(target);
      mountShifted({ source, target, userFd });
    }
    work(shifted);
  } finally {
    for (const path of shifted) {
      unmount(path);
      rmdirSync(path);
    }
  }
}

export interface ImageMount {
  /** The container's folder. */
  readonly folder: string;
  readonly layers: readonly string[];
  readonly target: string;
  readonly userFd?: number;
}

/** Mounts an image read-only, for a volume that is an image. */
export function mountImage({ folder, layers, target, userFd }: ImageMount): void {
  mkdirSync(target, { recursive: true, mode: 0o755 });
  const [only] = layers;
  if (layers.length === 1 && only) {
    if (userFd === undefined) bindMount(only, target);
    else mountShifted({ source: only, target, userFd });
    libc.mount("none", target, null, mountFlags.bind | mountFlags.remount | mountFlags.readOnly, null);
    return;
  }
  const lower = [...layers].reverse();
  if (userFd === undefined) mountOverlay({ lower, target });
  else withShifted(folder, lower, userFd, (shifted) => mountOverlay({ lower: shifted, target }));
}
