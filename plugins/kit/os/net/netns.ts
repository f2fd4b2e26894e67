// Network namespaces: make, enter for one synchronous stretch, and remove. A namespace belongs to a thread, so what runs
// inside must never await: every function here that enters one is synchronous, and returns to where it was even after an error.

import { closeSync, existsSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../../base/fault.ts";
import { CLONE_NEWNET, errno, libc, MNT_DETACH, MS_BIND, O_CLOEXEC, O_RDONLY, systemFault } from "./libc.ts";

const ownPath = "/proc/thread-self/ns/net";

/** A file descriptor that holds the namespace; `not-found` when the path is gone. The caller closes it. */
export function openNetns(path: string): number {
  const fd = libc().open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) throw systemFault(`Cannot open network namespace "${path}"`, errno());
  return fd;
}

export function closeNetns(fd: number): void {
  libc().close(fd);
}

/** Runs `work` in the namespace behind the descriptor or path. `work` must be synchronous. */
export function inNetns<T>(target: number | string, work: () => T): T {
  const fd = typeof target === "number" ? target : openNetns(target);
  try {
    const home = openNetns(ownPath);
    try {
      enter(fd);
      try {
        return work();
      } finally {
        enter(home);
      }
    } finally {
      libc().close(home);
    }
  } finally {
    if (typeof target === "string") libc().close(fd);
  }
}

function enter(fd: number): void {
  if (libc().setns(fd, CLONE_NEWNET) !== 0) throw systemFault("Cannot enter a network namespace", errno());
}

/** Makes a namespace that lives until `deleteNetns`, held by a mount at the path. */
export function createNetns(path: string): void {
  if (existsSync(path) && isNetns(path)) throw new Fault("already-exists", `Network namespace "${path}" exists`);
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, "w", 0o444));
  const home = openNetns(ownPath);
  try {
    if (libc().unshare(CLONE_NEWNET) !== 0) throw systemFault("Cannot make a network namespace", errno());
    try {
      if (libc().mount(ownPath, path, null, MS_BIND, null) !== 0)
        throw systemFault(`Cannot hold a network namespace at "${path}"`, errno());
    } finally {
      enter(home);
    }
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    libc().close(home);
  }
}

/** True when the path is a live network namespace, not the bare file that a reboot leaves. */
export function isNetns(path: string): boolean {
  const fd = libc().open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const home = libc().open(ownPath, O_RDONLY | O_CLOEXEC, 0);
  try {
    if (libc().setns(fd, CLONE_NEWNET) !== 0) return false;
    enter(home);
    return true;
  } finally {
    libc().close(fd);
    libc().close(home);
  }
}

/** Lets go of the namespace; it ends when its last process does. Removing what is not there is fine. */
export function deleteNetns(path: string): void {
  if (!existsSync(path)) return;
  // The mount may be gone already after a reboot; the file is removed either way.
  libc().umount2(path, MNT_DETACH);
  rmSync(path, { force: true });
}

/** Moves this thread, and so the whole single-threaded program, into a fresh namespace. For tests and tools that play a host. */
export function leaveForNewNetns(): void {
  if (libc().unshare(CLONE_NEWNET) !== 0) throw systemFault("Cannot make a network namespace", errno());
}
