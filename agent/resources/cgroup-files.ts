// The two versions of the kernel's control groups behind one small contract: make, limit, remove. Knows file names and units, nothing of pods.

import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface CgroupLimits {
  readonly cpuShares?: bigint;
  /** Microseconds of each 100 ms; 0 is no limit. */
  readonly cpuQuota?: bigint;
  /** 0 is no limit. */
  readonly memoryBytes?: bigint;
  readonly pids?: number;
}

export interface CgroupFiles {
  readonly version: 1 | 2;
  make(path: string): void;
  limit(path: string, limits: CgroupLimits): void;
  /** Removes it with everything below, in every hierarchy. False while processes are still in it. */
  remove(path: string): boolean;
  /** In any hierarchy. */
  exists(path: string): boolean;
  /** Whether a process is in it or below, in any hierarchy. */
  isPopulated(path: string): boolean;
  /** Sends SIGKILL to every process in it and below, in any hierarchy. Returns their ids; it does not wait for them to exit. */
  kill(path: string): readonly number[];
  /** Names below a path. */
  children(path: string): string[];
  /** Processes and threads in it and below; 0 when it is not there or nobody counts. */
  processes(path: string): number;
}

const period = 100_000n;

export function openCgroupFiles(root: string = "/sys/fs/cgroup"): CgroupFiles {
  return isThere(join(root, "cgroup.controllers")) ? new SecondVersion(root) : new FirstVersion(root);
}

function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch {
    return false;
  }
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    // A kernel without this controller has no such file; the limit is not enforced there, which the start of the agent tells.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EACCES") throw error;
  }
}

function readNumber(path: string): number {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch {
    return 0; // there is no such group, or the kernel has no such controller
  }
}

function directories(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

/** Whether a process is in the folder's group or below. */
function holdsProcesses(path: string): boolean {
  try {
    if (readFileSync(join(path, "cgroup.procs"), "utf8").trim() !== "") return true;
  } catch {
    // It went meanwhile.
  }
  return directories(path).some((name) => holdsProcesses(join(path, name)));
}

/** Process ids in the folder's cgroup and below. */
function pidsBelow(path: string): number[] {
  let own: number[] = [];
  try {
    // A process outside of this PID namespace shows as 0, which kill() would take for our own process group.
    own = readFileSync(join(path, "cgroup.procs"), "utf8")
      .split("\n")
      .map(Number)
      .filter((pid) => pid > 0);
  } catch {
    // The cgroup was removed meanwhile.
  }
  return [...own, ...directories(path).flatMap((name) => pidsBelow(join(path, name)))];
}

function killAll(pids: readonly number[]): readonly number[] {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ESRCH") throw error;
    }
  }
  return pids;
}

/** Deepest first. Busy ones stay. */
function removeTree(path: string): boolean {
  let isGone = true;
  for (const name of directories(path)) isGone = removeTree(join(path, name)) && isGone;
  try {
    rmdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") isGone = false;
  }
  return isGone;
}

class SecondVersion implements CgroupFiles {
  readonly version = 2;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  make(path: string): void {
    const full = join(this.#root, path);
    mkdirSync(full, { recursive: true });
    // A group's controllers are those that every group above it hands down.
    const wanted = ["cpu", "memory", "pids", "cpuset", "io", "hugetlb"];
    const above: string[] = [];
    for (let dir = dirname(full); dir.length >= this.#root.length; dir = dirname(dir)) above.unshift(dir);
    for (const dir of above) {
      const available = new Set(readFileSync(join(dir, "cgroup.controllers"), "utf8").trim().split(/\s+/));
      const text = wanted.filter((name) => available.has(name)).map((name) => `+${name}`);
      if (text.length > 0) write(join(dir, "cgroup.subtree_control"), text.join(" "));
    }
  }

  limit(path: string, limits: CgroupLimits): void {
    const dir = join(this.#root, path);
    const { cpuShares, cpuQuota, memoryBytes, pids } = limits;
    if (cpuShares !== undefined) write(join(dir, "cpu.weight"), String(weightOf(cpuShares)));
    if (cpuQuota !== undefined) write(join(dir, "cpu.max"), `${cpuQuota > 0n ? cpuQuota : "max"} ${period}`);
    if (memoryBytes !== undefined) write(join(dir, "memory.max"), memoryBytes > 0n ? String(memoryBytes) : "max");
    if (pids !== undefined) write(join(dir, "pids.max"), pids > 0 ? String(pids) : "max");
  }

  remove(path: string): boolean {
    return removeTree(join(this.#root, path));
  }

  exists(path: string): boolean {
    return isThere(join(this.#root, path));
  }

  isPopulated(path: string): boolean {
    return holdsProcesses(join(this.#root, path));
  }

  kill(path: string): readonly number[] {
    const dir = join(this.#root, path);
    const pids = pidsBelow(dir);
    if (pids.length === 0) return [];
    try {
      // Atomic: a process that forks meanwhile does not escape. Opened without O_CREAT: kernels before 5.14 have no such file.
      writeFileSync(join(dir, "cgroup.kill"), "1", { flag: "r+" });
      return pids;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "EACCES") throw error;
      return killAll(pids);
    }
  }

  children(path: string): string[] {
    return directories(join(this.#root, path));
  }

  processes(path: string): number {
    return readNumber(join(this.#root, path, "pids.current"));
  }
}

/** From 2…262144 shares to 1…10000 weight, as runtimes convert it. */
export function weightOf(shares: bigint): bigint {
  return 1n + ((shares - 2n) * 9999n) / 262_142n;
}

class FirstVersion implements CgroupFiles {
  readonly version = 1;
  readonly #root: string;
  readonly #hierarchies: string[];

  constructor(root: string) {
    this.#root = root;
    this.#hierarchies = directories(root).filter((name) => isThere(join(root, name, "cgroup.procs")));
  }

  /** Where a controller is mounted: alone or together with others. */
  #dir(controller: string, path: string): string | undefined {
    const name = this.#hierarchies.find((hierarchy) => hierarchy.split(",").includes(controller));
    return name === undefined ? undefined : join(this.#root, name, path);
  }

  make(path: string): void {
    // The runtime makes its own in the other hierarchies, and prepares those that need it (cpuset).
    for (const controller of ["cpu", "memory", "pids"]) {
      const dir = this.#dir(controller, path);
      if (dir) mkdirSync(dir, { recursive: true });
    }
  }

  limit(path: string, limits: CgroupLimits): void {
    const { cpuShares, cpuQuota, memoryBytes, pids } = limits;
    const cpu = this.#dir("cpu", path);
    if (cpu && cpuShares !== undefined) write(join(cpu, "cpu.shares"), String(cpuShares));
    if (cpu && cpuQuota !== undefined) {
      write(join(cpu, "cpu.cfs_period_us"), String(period));
      write(join(cpu, "cpu.cfs_quota_us"), cpuQuota > 0n ? String(cpuQuota) : "-1");
    }
    const memory = this.#dir("memory", path);
    if (memory && memoryBytes !== undefined) {
      write(join(memory, "memory.limit_in_bytes"), memoryBytes > 0n ? String(memoryBytes) : "-1");
    }
    const pidsDir = this.#dir("pids", path);
    if (pidsDir && pids !== undefined) write(join(pidsDir, "pids.max"), pids > 0 ? String(pids) : "max");
  }

  remove(path: string): boolean {
    return this.#hierarchies.map((name) => removeTree(join(this.#root, name, path))).every(Boolean);
  }

  exists(path: string): boolean {
    return this.#hierarchies.some((name) => isThere(join(this.#root, name, path)));
  }

  isPopulated(path: string): boolean {
    return this.#hierarchies.some((name) => holdsProcesses(join(this.#root, name, path)));
  }

  kill(path: string): readonly number[] {
    return killAll([...new Set(this.#hierarchies.flatMap((name) => pidsBelow(join(this.#root, name, path))))]);
  }

  processes(path: string): number {
    const dir = this.#dir("pids", path);
    return dir === undefined ? 0 : readNumber(join(dir, "pids.current"));
  }

  children(path: string): string[] {
    return [...new Set(this.#hierarchies.flatMap((name) => directories(join(this.#root, name, path))))];
  }
}
