// Mounts, without spawning a process: mounting, unmounting, finding what is mounted.

import { readFileSync } from "node:fs";
import koffi from "koffi";
import { libc, systemFault } from "../net/libc.ts";

export const mountFlags = {
  readOnly: 1,
  noSuid: 2,
  noDev: 4,
  noExec: 8,
  remount: 32,
  bind: 4096,
  recursive: 16384,
  private: 1 << 18,
  slave: 1 << 19,
  shared: 1 << 20,
} as const;

const detach = 2;
const umountNoFollow = 8;
const EINVAL = 22;
const ENOENT = 2;

/** Throws a Fault that names the target. */
export function mount(
  source: string,
  target: string,
  type: string | null,
  flags: number,
  data: string | null = null,
): void {
  if (libc().mount(source, target, type, flags, data) < 0)
    throw systemFault(`Cannot mount ${source} on ${target}`, koffi.errno());
}

/**
 * Takes away every mount stacked on the path; nothing there is fine, nor is a symbolic link followed. Busy ones are detached and vanish with
 * their last user.
 */
export function unmount(target: string): void {
  while (libc().umount2(target, detach | umountNoFollow) === 0);
  const number = koffi.errno();
  if (number !== EINVAL && number !== ENOENT) throw systemFault(`Cannot unmount ${target}`, number);
}

/** Mount points at or below the path, deepest last, as the kernel lists them. */
export function mountsBelow(path: string): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => unescape(line.split(" ")[4] ?? ""))
    .filter((point) => point === path || point.startsWith(`${path}/`));
}

/** By mount point, of the one that is seen there. Asks nobody but the kernel. */
export function fileSystemTypes(): Map<string, string> {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return new Map(
    lines.flatMap((line) => {
      const [own = "", below = ""] = line.split(" - ");
      const point = own.split(" ")[4];
      return point === undefined ? [] : [[unescape(point), below.split(" ")[0] ?? ""]];
    }),
  );
}

export function isMountPoint(path: string): boolean {
  return mountsBelow(path).includes(path);
}

const statxBytes = 256;
const attributesAt = 8;
const attributesKnownAt = 56;
const mountRoot = 0x2000n;
const here = -100;
const noFollow = 0x100;
const noAutomount = 0x800;

/**
 * The same where only what lies on this machine can be mounted, such as memory: it asks about the path alone, while the kernel's list grows
 * with every pod. Not for volumes of others: a server that is gone would hold up the whole process.
 */
export function isLocalMountPoint(path: string): boolean {
  const answer = new Uint8Array(statxBytes);
  if (libc().statx(here, path, noFollow | noAutomount, 0, answer) < 0) {
    const number = koffi.errno();
    if (number === ENOENT) return false;
    throw systemFault(`Cannot look at ${path}`, number);
  }
  const view = new DataView(answer.buffer);
  // Kernels before 5.8 do not say.
  if ((view.getBigUint64(attributesKnownAt, true) & mountRoot) === 0n) return isMountPoint(path);
  return (view.getBigUint64(attributesAt, true) & mountRoot) !== 0n;
}

/** The kernel writes spaces and the like as octal escapes. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
