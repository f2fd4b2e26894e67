// Mounts: bind, overlay, tmpfs; and taking them away so that it works after a restart with nothing in memory.

import { readFileSync } from "node:fs";
import { bind, libc, LibcError, openFlags } from "./libc.ts";

export const mountFlags = {
  readOnly: 1,
  noSuid: 2,
  noDevices: 4,
  noExec: 8,
  remount: 32,
  bind: 4096,
  recursive: 16384,
  private: 1 << 18,
  shared: 1 << 20,
};
const detach = 2;
const noFollow = 8;
/** The kernel takes one page of options. */
const maxOptionBytes = 4000;

export interface OverlayMount {
  /** Topmost first, as the kernel wants them. */
  readonly lower: readonly string[];
  /** Read-only without these. */
  readonly upper?: string;
  readonly work?: string;
  readonly target: string;
}

export function mountOverlay(overlay: OverlayMount): void {
  const options = (lower: readonly string[]) => {
    const writable = overlay.upper
      ? `,upperdir=${escapePath(overlay.upper)},workdir=${escapePath(overlay.work ?? "")}`
      : "";
    // Volatile would be quicker still, but a container's own files must survive a power cut.
    return `lowerdir=${lower.join(":")}${writable}`;
  };
  const named = options(overlay.lower.map(escapePath));
  if (Buffer.byteLength(named) <= maxOptionBytes) return libc.mount("overlay", overlay.target, "overlay", 0, named);
  // Too many layers for one page by their names: name them by descriptor.
  const fds: number[] = [];
  try {
    for (const layer of overlay.lower) fds.push(libc.open(layer, openFlags.path));
    libc.mount("overlay", overlay.target, "overlay", 0, options(fds.map((fd) => `/proc/self/fd/${fd}`)));
  } finally {
    for (const fd of fds) libc.close(fd);
  }
}

const escapePath = (path: string) => path.replace(/[\\:,]/g, (character) => `\\${character}`);

export function bindMount(source: string, target: string): void {
  libc.mount(source, target, null, mountFlags.bind, null);
}

/** Takes the mount at the path away, and those stacked on it. Fine when there is none. */
export function unmount(path: string): void {
  for (let stacked = 0; stacked < 64; stacked++) {
    try {
      libc.umount(path, detach | noFollow);
    } catch (error) {
      if (error instanceof LibcError && (error.code === "EINVAL" || error.code === "ENOENT")) return;
      throw error;
    }
  }
}

/** Every mount point below a folder, deepest first. */
export function mountsBelow(folder: string): string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const points = lines.map((line) => unescapeOctal(line.split(" ")[4] ?? ""));
  return points.filter((point) => point.startsWith(`${folder}/`)).sort((a, b) => b.length - a.length);
}

const unescapeOctal = (text: string) =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** By the bits of statvfs(3). */
const forbidding: Readonly<Record<number, string>> = { 2: "nosuid", 4: "nodev", 8: "noexec" };
// The eleven words of struct statvfs before its spare ones, where a word has 64 bits: the flags are the tenth.
const flagsOffset = 72;

/** What the mount that a path lies on forbids, as mount options. */
export function forbiddenAt(path: string): string[] {
  const found = Buffer.alloc(256);
  if (bind("int statvfs(const char *path, void *found)")(path, found) < 0) return [];
  const flags = Number(found.readBigUInt64LE(flagsOffset));
  return Object.entries(forbidding).flatMap(([bit, option]) => ((flags & Number(bit)) === 0 ? [] : [option]));
}
