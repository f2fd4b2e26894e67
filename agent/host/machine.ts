// Facts of the machine, read from /proc, /sys and /etc below a root that tests may replace.

import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { arch, availableParallelism, release } from "node:os";
import { join } from "node:path";

export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  /** Page size in bytes and how much memory is set aside for it. */
  readonly hugepages: readonly { readonly size: bigint; readonly bytes: bigint }[];
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names it. */
  readonly architecture: string;
  readonly cgroupVersion: 1 | 2;
  readonly hasMemoryController: boolean;
  /** Whether the kernel limits swap by cgroup v2. */
  readonly hasSwapController: boolean;
  readonly hasAppArmor: boolean;
}

const architectures: Record<string, string> = { x64: "amd64", arm64: "arm64", arm: "arm", riscv64: "riscv64" };

export function machineFacts(root: string = "/"): MachineFacts {
  const read = (path: string) => readText(join(root, path));
  const cgroupVersion = read("sys/fs/cgroup/cgroup.controllers") === "" ? 1 : 2;
  return {
    cpus: availableParallelism(),
    memoryBytes: meminfo(read("proc/meminfo"), "MemTotal"),
    hugepages: hugepages(join(root, "sys/kernel/mm/hugepages")),
    machineId: read("etc/machine-id").trim(),
    systemUuid: read("sys/class/dmi/id/product_uuid").trim() || read("etc/machine-id").trim(),
    bootId: read("proc/sys/kernel/random/boot_id").trim(),
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?(.*?)"?$/m.exec(read("etc/os-release"))?.[1] ?? "Linux",
    architecture: architectures[arch()] ?? arch(),
    cgroupVersion,
    hasMemoryController: hasMemoryController(cgroupVersion, read),
    hasSwapController: cgroupVersion === 2 && hasSwapController(read),
    hasAppArmor: read("sys/module/apparmor/parameters/enabled").trim() === "Y",
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not every kernel has every file; what cannot be read is not there.
    return "";
  }
}

export function meminfo(text: string, field: string): bigint {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text);
  return BigInt(match?.[1] ?? 0) * 1024n;
}

function hasMemoryController(version: 1 | 2, read: (path: string) => string): boolean {
  if (version === 2) return read("sys/fs/cgroup/cgroup.controllers").split(/\s+/).includes("memory");
  // Name, hierarchy, number of cgroups, enabled.
  return /^memory\s+\d+\s+\d+\s+1$/m.test(read("proc/cgroups"));
}

/** The root group has no such file; our own is below it. */
function hasSwapController(read: (path: string) => string): boolean {
  const own = /^0::(\/.+)$/m.exec(read("proc/self/cgroup"))?.[1];
  return own !== undefined && read(`sys/fs/cgroup${own}/memory.swap.max`) !== "";
}

function hugepages(dir: string): { size: bigint; bytes: bigint }[] {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const kb = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    if (!kb) return [];
    const size = BigInt(kb) * 1024n;
    return [{ size, bytes: size * BigInt(readText(join(dir, name, "nr_hugepages")).trim() || 0) }];
  });
}

/** Size and free space of the file system below a path. */
export function fileSystem(path: string): {
  bytes: number;
  availableBytes: number;
  inodes: number;
  freeInodes: number;
} {
  const { bsize, blocks, bavail, files, ffree } = statfsSync(path);
  return { bytes: bsize * blocks, availableBytes: bsize * bavail, inodes: files, freeInodes: ffree };
}
