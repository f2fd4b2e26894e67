// Project quotas: holds a directory to a number of bytes where its file system counts by project (xfs, ext4 with `prjquota`).
// The directory's own project number is its memory: nothing else is kept.

import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import koffi from "koffi";
import { libc, O_CLOEXEC, systemFault } from "../net/libc.ts";

const O_DIRECTORY = process.arch === "arm64" ? 0o40000 : 0o200000;
const O_NOFOLLOW = process.arch === "arm64" ? 0o100000 : 0o400000;
const getAttributes = 0x801c581f; // FS_IOC_FSGETXATTR of a 28-byte structure
const setAttributes = 0x401c5820; // FS_IOC_FSSETXATTR
const inheritProject = 0x200;
const quotactlFd = 443; // the same on x86-64 and arm64
const setProjectQuota = 0x80000802; // Q_SETQUOTA for projects
const blockLimits = 1;
const firstProject = 0x40000000;

/** What file systems and kernels without project quotas answer. */
const unable = new Set([3, 22, 25, 38, 95]); // ESRCH, EINVAL, ENOTTY, ENOSYS, EOPNOTSUPP

interface Calls {
  ioctl(fd: number, request: number, argument: Uint8Array): number;
  quotactl(number: number, fd: number, command: number, id: number, argument: Uint8Array): number;
}
let loaded: Calls | undefined;

function calls(): Calls {
  if (loaded) return loaded;
  const library = koffi.load("libc.so.6");
  loaded = {
    ioctl: library.func("int ioctl(int, unsigned long, _Inout_ uint8_t *)"),
    quotactl: library.func("long syscall(long, unsigned int, unsigned int, unsigned int, const uint8_t *)"),
  };
  return loaded;
}

/**
 * Holds everything that will be below the directory to so many bytes, 0 for no limit. Files that were there before it got its
 * project are not counted. The answer is false where the file system has no such quotas; other trouble is a Fault.
 */
export function limitDirectory(path: string, bytes: number): boolean {
  return withDirectory(path, (fd) => {
    const attributes = attributesOf(fd);
    if (!attributes) return false;
    let project = attributes.getUint32(12, true);
    if (project < firstProject) {
      if (bytes === 0) return true;
      project = freeProject(path);
      attributes.setUint32(0, attributes.getUint32(0, true) | inheritProject, true);
      attributes.setUint32(12, project, true);
      if (calls().ioctl(fd, setAttributes, new Uint8Array(attributes.buffer)) < 0) return isAble(path);
    }
    return calls().quotactl(quotactlFd, fd, setProjectQuota, project, blockQuota(bytes)) === 0 || isAble(path);
  });
}

/** The limits of `struct if_dqblk`, in blocks of 1,024 bytes, rounded up; the rest stays as it is. */
export function blockQuota(bytes: number): Uint8Array {
  const quota = new DataView(new ArrayBuffer(72));
  const blocks = BigInt(Math.ceil(bytes / 1024));
  quota.setBigUint64(0, blocks, true);
  quota.setBigUint64(8, blocks, true);
  quota.setUint32(64, blockLimits, true);
  return new Uint8Array(quota.buffer);
}

/** A number for a directory by its name, in a range of its own; the next one where a neighbour has it already. */
export function projectFor(name: string, taken: ReadonlySet<number>): number {
  let project = firstProject + (createHash("sha256").update(name).digest().readUInt32LE() & 0x3fffffff);
  while (taken.has(project)) project = firstProject + ((project + 1) & 0x3fffffff);
  return project;
}

function freeProject(path: string): number {
  const parent = dirname(path);
  const taken = new Set<number>();
  for (const entry of readdirSync(parent, { withFileTypes: true })) {
    const fd = entry.isDirectory()
      ? libc().open(join(parent, entry.name), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
      : -1;
    if (fd < 0) continue; // It went meanwhile, and its number with it.
    taken.add(attributesOf(fd)?.getUint32(12, true) ?? 0);
    libc().close(fd);
  }
  return projectFor(basename(path), taken);
}

function attributesOf(fd: number): DataView | undefined {
  const bytes = new Uint8Array(28);
  return calls().ioctl(fd, getAttributes, bytes) < 0 ? undefined : new DataView(bytes.buffer);
}

/** After a call that failed: false when nothing better can be expected here, a Fault otherwise. */
function isAble(path: string): false {
  const number = koffi.errno();
  if (unable.has(number)) return false;
  throw systemFault(`Cannot limit the size of ${path}`, number);
}

function withDirectory<T>(path: string, work: (fd: number) => T): T {
  const fd = libc().open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) throw systemFault(`Cannot open ${path}`, koffi.errno());
  try {
    return work(fd);
  } finally {
    libc().close(fd);
  }
}
