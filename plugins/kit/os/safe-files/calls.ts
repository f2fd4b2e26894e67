// The system calls behind folder handles: openat, and openat2 where the kernel has it (Linux 5.6).

import { constants } from "node:fs";
import koffi from "koffi";
import { Fault } from "../../base/fault.ts";
import { libc, systemFault } from "../net/libc.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;
const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const currentDirectory = -100;
const openat2Number = 437; // the same on x86-64 and arm64

export const resolve = { noCrossing: 0x01, noMagicLinks: 0x02, noLinks: 0x04, beneath: 0x08, inRoot: 0x10 } as const;

const ENOENT = 2;
const EAGAIN = 11;
const EXDEV = 18;
const ENOTDIR = 20;
const ENOSYS = 38;
const ELOOP = 40;

interface Calls {
  openat(directory: number, path: string, flags: number, mode: number): number;
  openat2(number: number, directory: number, path: string, how: Uint8Array, size: number): number;
  readlinkat(link: number, path: string, into: Uint8Array, size: number): number;
}
let loaded: Calls | undefined;

function calls(): Calls {
  if (loaded) return loaded;
  const library = koffi.load("libc.so.6");
  loaded = {
    openat: library.func("int openat(int, const char *, int, uint32_t)"),
    openat2: library.func("long syscall(long, int, const char *, const uint8_t *, size_t)"),
    readlinkat: library.func("int64_t readlinkat(int, const char *, _Out_ uint8_t *, size_t)"),
  };
  return loaded;
}

/** A handle (O_PATH) of a directory by a path that is the agent's own or the administrator's. */
export function openDirectory(path: string, options: { followsLink?: boolean } = {}): number {
  const flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (options.followsLink ? 0 : O_NOFOLLOW);
  return checked(calls().openat(currentDirectory, path, flags, 0), path);
}

/** A handle (O_PATH) of one entry of a directory, whatever it is; a symbolic link itself, not its target. */
export function openEntry(directory: number, name: string, options: { mustBeDirectory?: boolean } = {}): number {
  const flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (options.mustBeDirectory ? O_DIRECTORY : 0);
  return checked(calls().openat(directory, name, flags, 0), name);
}

const mostTargetBytes = 4096;

/** Where a symbolic link that is held open leads. */
export function targetOf(link: number): string {
  const target = Buffer.alloc(mostTargetBytes);
  const length = Number(calls().readlinkat(link, "", target, target.length));
  if (length < 0) throw systemFault("failed to read a symbolic link", koffi.errno());
  return target.toString("utf8", 0, length);
}

const mostTries = 128;
let hasOpenat2 = true;

/** A handle by openat2; undefined where the kernel does not have it. */
export function openResolved(
  directory: number,
  path: string,
  resolution: number,
  options: { mustBeDirectory?: boolean } = {},
): number | undefined {
  if (!hasOpenat2) return undefined;
  const how = new Uint8Array(24);
  const view = new DataView(how.buffer);
  view.setBigUint64(0, BigInt(O_PATH | O_CLOEXEC | (options.mustBeDirectory ? O_DIRECTORY : 0)), true);
  view.setBigUint64(16, BigInt(resolution), true);
  let fd = -1;
  // EAGAIN: something was renamed while a `..` was resolved. Whoever renames in a loop must not keep this going for ever.
  for (let tries = 0; tries < mostTries; tries++) {
    fd = Number(calls().openat2(openat2Number, directory, path, how, how.length));
    if (fd >= 0 || koffi.errno() !== EAGAIN) break;
  }
  if (fd < 0 && koffi.errno() === ENOSYS) {
    hasOpenat2 = false;
    return undefined;
  }
  return checked(fd, path);
}

/** For tests: behaves as a kernel before 5.6 does while the work runs. */
export function withoutOpenat2<T>(work: () => T): T {
  hasOpenat2 = false;
  try {
    return work();
  } finally {
    hasOpenat2 = true;
  }
}

export function closeHandle(fd: number): void {
  libc().close(fd);
}

const words: Readonly<Record<number, [code: "not-found" | "forbidden", what: string]>> = {
  [ENOENT]: ["not-found", "no such file or directory"],
  [EXDEV]: ["forbidden", "it leads out of its directory or to another mount"],
  [ELOOP]: ["forbidden", "symbolic link where none may be"],
  [ENOTDIR]: ["forbidden", "not a directory"],
};

function checked(fd: number, path: string): number {
  if (fd >= 0) return fd;
  const number = koffi.errno();
  const [code, what] = words[number] ?? [];
  if (!code) throw systemFault(`failed to open "${path}"`, number);
  throw new Fault(code, `failed to open "${path}": ${what}`, { details: { errno: number } });
}

const errnoOf = (error: unknown) =>
  error instanceof Fault ? (error.details as { errno?: number } | undefined)?.errno : undefined;

/** An open failed because there is nothing, a symbolic link or another kind of file where a directory was expected. */
export const isNoDirectory = (error: unknown): boolean => {
  const number = errnoOf(error);
  return number === ENOENT || number === ELOOP || number === ENOTDIR;
};

/** An open failed because something is mounted there. */
export const isOtherMount = (error: unknown): boolean => errnoOf(error) === EXDEV;
