// Files that must survive a pulled plug: written whole or not at all, read with a bound, locked against a second instance.

import { randomBytes } from "node:crypto";
import { closeSync, openSync, readSync, writeFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault, toFault } from "../../base/fault.ts";

/**
 * Replaces the file's content so that after a crash either the old or the new is there, whole. When it resolves, the new
 * one is on the disk. The folder must exist.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  options: { mode?: number } = {},
): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
  try {
    const file = await open(temporary, "wx", options.mode ?? 0o600);
    try {
      await file.writeFile(content);
      // The mode of `open` is cut by the umask.
      await file.chmod(options.mode ?? 0o600);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (error) {
    await rm(temporary, { force: true });
    throw fileFault(error, `Cannot write ${path}`);
  }
}

/** Puts the folder's entries on the disk: without it a rename may be forgotten. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The whole file, at most `maxBytes` of it: a longer one is Fault `invalid`, a missing one `not-found`. */
export function readBounded(path: string, maxBytes: number): Buffer {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r");
    const chunks: Buffer[] = [];
    let length = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes + 1));
      const read = readSync(descriptor, chunk, 0, chunk.length, null);
      if (read === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, read));
      length += read;
      if (length > maxBytes) throw new Fault("invalid", `Cannot read ${path}: it is longer than ${maxBytes} bytes`);
    }
  } catch (error) {
    throw fileFault(error, `Cannot read ${path}`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

export interface FileLock {
  /** May be called twice. */
  release(): void;
}

/**
 * Takes the lock file for this process. The kernel holds the lock (flock), so that it is free again the moment the process
 * is gone, however it went. Fault `already-exists` names who has it.
 */
export async function lockFile(path: string): Promise<FileLock> {
  const { libc, errno, systemFault, EAGAIN, LOCK_EX, LOCK_NB, O_CLOEXEC, O_CREAT_RDWR } = await import(
    "../net/libc.ts"
  );
  const descriptor = libc().open(path, O_CREAT_RDWR | O_CLOEXEC, 0o600);
  if (descriptor < 0) throw systemFault(`Cannot open the lock file ${path}`, errno());
  if (libc().flock(descriptor, LOCK_EX | LOCK_NB) !== 0) {
    const number = errno();
    libc().close(descriptor);
    if (number !== EAGAIN) throw systemFault(`Cannot lock ${path}`, number);
    throw new Fault("already-exists", `Cannot lock ${path}: process ${holderOf(path)} has it`);
  }
  // For people and messages only: the lock itself is the kernel's.
  writeFileSync(path, `${process.pid}\n`);
  let isHeld = true;
  return {
    release() {
      if (isHeld) libc().close(descriptor);
      isHeld = false;
    },
  };
}

function holderOf(path: string): string {
  try {
    return /^\d+/.exec(readBounded(path, 64).toString("latin1"))?.[0] ?? "unknown";
  } catch {
    return "unknown"; // Only decorates a message.
  }
}

function fileFault(error: unknown, doing: string): Fault {
  const { code } = error as { code?: unknown };
  if (code === "ENOENT") return new Fault("not-found", `${doing}: there is no such file or folder`, { cause: error });
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return new Fault(
      "forbidden",
      `${doing}: ${code === "EROFS" ? "the file system is read-only" : "permission denied"}`,
      { cause: error },
    );
  if (code === "ENOSPC") return new Fault("unavailable", `${doing}: the disk is full`, { cause: error });
  return toFault(error, doing);
}
