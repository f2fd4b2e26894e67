// Control groups of containers and pods, version 1 (also in hybrid mode) and 2, read and written as files. Paths are as the OCI
// specification has them: from the root of the hierarchy, such as `/kubepods/pod1/abc`.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { signal } from "./processes.ts";

const mountPoint = "/sys/fs/cgroup";

export class Cgroups {
  readonly version: 1 | 2;
  /** Which controllers the kernel offers here: memory is off on many small boards unless asked for at boot. */
  readonly controllers: ReadonlySet<string>;
  readonly #root: string;
  /** Version 1: a folder per hierarchy. Version 2: the one. */
  readonly #hierarchies: string[];

  constructor(root: string = mountPoint) {
    this.#root = root;
    this.version = existsSync(join(root, "cgroup.controllers")) ? 2 : 1;
    this.#hierarchies =
      this.version === 2
        ? [root]
        : readdirSync(root)
            .map((name) => join(root, name))
            .filter((path) => existsSync(join(path, "cgroup.procs")));
    this.controllers = new Set(
      this.version === 2
        ? readFileSync(join(root, "cgroup.controllers"), "utf8").trim().split(" ")
        : this.#hierarchies.map((path) => basename(path)),
    );
  }

  /** Whether the hierarchies that were found at the start are still there, and there were any. */
  isMounted(): boolean {
    const [first] = this.#hierarchies;
    return first !== undefined && existsSync(join(first, "cgroup.procs"));
  }

  /** The folder where a controller's files of the group are. */
  folder(path: string, controller: string): string {
    return this.version === 2 ? join(this.#root, path) : join(this.#root, controller, path);
  }

  /** A file's text, or undefined where the controller, the group or the file is absent. */
  read(path: string, controller: string, file: string): string | undefined {
    try {
      return readFileSync(join(this.folder(path, controller), file), "utf8");
    } catch {
      // Absence is an answer here: a group ends between two looks, and kernels differ in what they offer.
      return undefined;
    }
  }

  /** Moves a process into the group in every hierarchy that takes it, making the group where it is missing. */
  enter(path: string, pid: number, controllers: readonly string[]): void {
    const folders =
      this.version === 2 ? [join(this.#root, path)] : controllers.map((name) => join(this.#root, name, path));
    for (const folder of folders) {
      try {
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, "cgroup.procs"), String(pid));
      } catch {
        // Only accounting is lost: a hierarchy may be absent, or not ours to write.
      }
    }
  }

  processes(path: string): number[] {
    return this.#members(path, "cgroup.procs");
  }

  threads(path: string): number[] {
    return this.#members(path, this.version === 2 ? "cgroup.threads" : "tasks");
  }

  #members(path: string, file: string): number[] {
    const text = this.read(path, this.version === 2 ? "" : this.#anyController(path), file) ?? "";
    return text.split("\n").filter(Boolean).map(Number);
  }

  /** Of the group and everything below it. */
  allProcesses(path: string): number[] {
    return [path, ...this.#below(path)].flatMap((group) => this.processes(group));
  }

  #anyController(path: string): string {
    for (const name of ["pids", "memory", "cpu", "devices", "systemd", "freezer"]) {
      if (existsSync(join(this.#root, name, path))) return name;
    }
    return "memory";
  }

  /** SIGKILLs every process of the group and below. */
  kill(path: string): void {
    if (this.version === 2) {
      try {
        writeFileSync(join(this.#root, path, "cgroup.kill"), "1");
        return;
      } catch {
        // Kernels before 5.14 lack the file: one by one, then.
      }
    }
    for (const pid of this.allProcesses(path)) if (pid > 1) signal(pid, 9);
  }

  #below(path: string): string[] {
    const children = childrenOf(this.folder(path, this.#anyController(path)));
    return children.flatMap((name) => [`${path}/${name}`, ...this.#below(`${path}/${name}`)]);
  }

  /** Removes the group everywhere with what is below it. False while something still runs in it. */
  remove(path: string): boolean {
    let isGone = true;
    for (const hierarchy of this.#hierarchies) isGone = removeFolder(join(hierarchy, path)) && isGone;
    return isGone;
  }

  /** Removes the group where nothing is in it and nothing below. */
  removeIfEmpty(path: string): void {
    for (const hierarchy of this.#hierarchies) {
      try {
        rmdirSync(join(hierarchy, path));
      } catch {
        // In use, or gone already.
      }
    }
  }

  oomKills(path: string): number {
    const text =
      this.version === 2 ? this.read(path, "", "memory.events") : this.read(path, "memory", "memory.oom_control");
    return Number(/^oom_kill (\d+)/m.exec(text ?? "")?.[1] ?? 0);
  }
}

function childrenOf(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    // It went meanwhile: the OCI runtime and the kubelet take groups away too.
    return [];
  }
}

function removeFolder(folder: string): boolean {
  let isGone = true;
  for (const name of childrenOf(folder)) isGone = removeFolder(join(folder, name)) && isGone;
  try {
    rmdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") isGone = false;
  }
  return isGone;
}
