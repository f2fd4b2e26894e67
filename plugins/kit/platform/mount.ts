// Mounts, without spawning a process: mounting, unmounting, finding what is mounted, and opening a path below a directory
// in a way that no symbolic link can lead out of it.

import { readFileSync } from "node:fs";
import koffi from "koffi";
import { libc, systemFault } from "../net/libc.ts";
import { Fault } from "../fault.ts";

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
const EINVAL = 22;
const ENOENT = 2;
const EXDEV = 18;
const ELOOP = 40;

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

/** Takes away every mount stacked on the path; nothing there is fine. Busy ones are detached and vanish with their last user. */
export function unmount(target: string): void {
  while (libc().umount2(target, detach) === 0);
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

const openat2Number = 437; // the same on x86-64 and arm64
const resolveBeneath = 0x08;
const resolveNoMagicLinks = 0x02;
const openPath = 0o10000000;
const closeOnExec = 0o2000000;

let syscall: ((number: number, dir: number, path: string, how: Uint8Array, size: number) => number) | undefined;

/**
 * Opens (as a mere handle) what `path` names below the directory; links inside it are followed, links out of it refused.
 * The caller closes the descriptor. Fault `not-found`, or `forbidden` when the path leads out.
 */
export function openBeneath(directory: string, path: string): number {
  const root = libc().open(directory, openPath | closeOnExec, 0);
  if (root < 0) throw systemFault(`Cannot open ${directory}`, koffi.errno());
  try {
    syscall ??= koffi
      .load("libc.so.6")
      .func("long syscall(long, int, const char *, const uint8_t *, size_t)") as unknown as typeof syscall;
    const how = new Uint8Array(24);
    const view = new DataView(how.buffer);
    view.setBigUint64(0, BigInt(openPath | closeOnExec), true);
    view.setBigUint64(16, BigInt(resolveBeneath | resolveNoMagicLinks), true);
    const fd = Number(syscall?.(openat2Number, root, path === "" ? "." : path, how, how.length));
    if (fd >= 0) return fd;
    const number = koffi.errno();
    if (number === EXDEV || number === ELOOP)
      throw new Fault("forbidden", `Cannot use "${path}" below ${directory}: it leads out of the volume`);
    throw systemFault(`Cannot open "${path}" below ${directory}`, number);
  } finally {
    libc().close(root);
  }
}

export function closeHandle(fd: number): void {
  libc().close(fd);
}
