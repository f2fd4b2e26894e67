// Namespaces that live without a process, each held by a mount on a file. Made on this thread in one synchronous stretch, which
// takes a millisecond, and left again before anything else can run here.

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { cloneFlags, libc, openFlags } from "./libc.ts";
import { bindMount, unmount } from "./mounts.ts";

export type HeldNamespace = "net" | "ipc" | "uts";

/**
 * Makes the namespaces and holds each at `<folder>/<kind>`; `inside` runs within them and must be synchronous.
 * Whatever fails, this thread is back home afterwards.
 */
export function makeNamespaces(folder: string, kinds: readonly HeldNamespace[], inside: () => void): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (kinds.length === 0) return;
  const homes = kinds.map((kind) => ({ kind, fd: libc.open(`/proc/thread-self/ns/${kind}`, openFlags.readOnly) }));
  try {
    libc.unshare(kinds.reduce((flags, kind) => flags | cloneFlags[kind], 0));
    for (const kind of kinds) hold(`/proc/thread-self/ns/${kind}`, join(folder, kind));
    inside();
  } finally {
    for (const { kind, fd } of homes) {
      libc.setns(fd, cloneFlags[kind]);
      libc.close(fd);
    }
  }
}

/** Keeps a namespace alive at a path. */
export function hold(source: string, path: string): void {
  closeSync(openSync(path, "w", 0o400));
  bindMount(source, path);
}

/** Runs synchronous work in held namespaces, each where it exists in the folder. */
export function within<T>(folder: string, kinds: readonly HeldNamespace[], work: () => T): T {
  const entered = kinds.filter((kind) => existsSync(join(folder, kind)));
  const homes = entered.map((kind) => ({ kind, fd: libc.open(`/proc/thread-self/ns/${kind}`, openFlags.readOnly) }));
  try {
    for (const kind of entered) {
      const fd = libc.open(join(folder, kind), openFlags.readOnly);
      try {
        libc.setns(fd, cloneFlags[kind]);
      } finally {
        libc.close(fd);
      }
    }
    return work();
  } finally {
    for (const { kind, fd } of homes) {
      libc.setns(fd, cloneFlags[kind]);
      libc.close(fd);
    }
  }
}

/** Lets go of every namespace held in the folder, and removes it. Idempotent. */
export function releaseNamespaces(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    unmount(join(folder, name));
    rmSync(join(folder, name), { force: true });
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Whether the file holds a namespace, not the bare file that a reboot leaves. */
export function isHeld(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  // Namespaces live on their own file system, whose device differs from that of the folder around it.
  return found !== undefined && found.dev !== statSync(join(path, "..")).dev;
}
