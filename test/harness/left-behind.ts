// Takes away what a container runtime of a test may leave on the machine: processes, mounts, interfaces, cgroups, files.
// Everything is found by the test's own folder or name, so that nothing of others is ever touched.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Processes whose command line names `needle`, this one excepted. */
export function processesNaming(needle: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => readOr("", () => readFileSync(`/proc/${pid}/cmdline`, "utf8")).includes(needle))
    .map(Number);
}

/** The given processes and everything they started that is still their child. */
export function withDescendants(pids: readonly number[]): number[] {
  const all = new Set(pids);
  for (const pid of all) {
    const children = readOr("", () => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
    for (const child of children.split(" ").filter(Boolean)) all.add(Number(child));
  }
  return [...all];
}

export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Already gone, which is what is wanted.
    }
  }
}

/** Mount points below `dir`, deepest first. */
export function mountsBelow(dir: string): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replaceAll("\\040", " "))
    .filter((path) => path.startsWith(`${dir}/`))
    .reverse();
}

export function unmountBelow(dir: string): void {
  for (const path of mountsBelow(dir)) quietly("umount", ["-l", path]);
}

export function deleteInterface(name: string): void {
  quietly("ip", ["link", "delete", name]);
}

/** Removes the test's own cgroup of every controller, and all below in which nothing runs. */
export function removeCgroup(name: string): void {
  for (const folder of cgroupFolders(name)) removeEmpty(folder);
}

/** Removes a cgroup that other tests use too. Only where nothing is below: what another makes there is empty for a moment. */
export function removeSharedCgroup(name: string): void {
  for (const folder of cgroupFolders(name)) readOr(undefined, () => rmdirSync(folder));
}

function cgroupFolders(name: string): string[] {
  const controllers = readOr<string[]>([], () => readdirSync("/sys/fs/cgroup"));
  return ["", ...controllers].map((controller) => join("/sys/fs/cgroup", controller, name));
}

function removeEmpty(dir: string): void {
  const entries = readOr([], () => readdirSync(dir, { withFileTypes: true }));
  for (const entry of entries) if (entry.isDirectory()) removeEmpty(join(dir, entry.name));
  readOr(undefined, () => rmdirSync(dir));
}

export function removeFolder(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

function quietly(command: string, args: string[]): void {
  readOr(undefined, () => execFileSync(command, args, { stdio: "ignore" }));
}

/** Things of /proc, /sys and the mount table may vanish while they are read. */
function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
