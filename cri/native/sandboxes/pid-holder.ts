// Starts the process that holds a pod's shared process namespace, and ends it. The only process a sandbox ever has of its own.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { installedProgram } from "../kernel/installed-program.ts";
import { cloneFlags, libc, openFlags } from "../kernel/libc.ts";
import { hold } from "../kernel/namespaces.ts";
import { nameProcess, type ProcessName, signalProcess } from "../../../plugins/kit/os/platform/processes.ts";
import { reaped, spawn } from "../kernel/spawn.ts";
import { holderProgram } from "../../../plugins/kit/os/platform/holder-program.ts";

/** Synchronous: this thread's children are born elsewhere until it returns. */
export function startHolder(root: string, nsFolder: string): ProcessName {
  const path = installHolder(root);
  const empty = emptyFolder(nsFolder);
  const home = libc.open("/proc/thread-self/ns/pid", openFlags.readOnly);
  let pid: number;
  try {
    libc.unshare(cloneFlags.pid);
    pid = spawn({ path, name: "hold", args: [], cwd: empty });
  } finally {
    libc.setns(home, cloneFlags.pid);
    libc.close(home);
  }
  mkdirSync(nsFolder, { recursive: true, mode: 0o700 });
  hold(`/proc/${pid}/ns/pid`, join(nsFolder, "pid"));
  return nameProcess(pid);
}

/** What the holder shuts itself in. */
export function emptyFolder(nsFolder: string): string {
  const path = join(nsFolder, "..", "empty");
  mkdirSync(path, { recursive: true, mode: 0o555 });
  return path;
}

/** Where its program is, written there on first use. */
export function installHolder(root: string): string {
  return installedProgram(root, "hold", holderProgram, "share a process namespace");
}

/** Ends it, and with it every process of the namespace. Idempotent. */
export async function stopHolder(holder: ProcessName): Promise<void> {
  if (!signalProcess(holder, 9)) return;
  await reaped(holder.pid);
}
