// What the processes of a container say: how many, what they hold open, how much they may.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import { number } from "../cgroup-usage.ts";
import type { Reading } from "./families.ts";

export function processReadings(cgroups: Cgroups, path: string): Reading[] {
  const pids = cgroups.allProcesses(path);
  const open = pids.map(openFiles);
  const sum = (of: (one: { files: number; sockets: number; threads: number }) => number) =>
    open.reduce((total, one) => total + of(one), 0);
  const tasks = number(cgroups.read(path, "pids", "pids.current"));
  return [
    ["container_processes", pids.length],
    ["container_threads", tasks ?? sum(({ threads }) => threads)],
    ["container_threads_max", number(cgroups.read(path, "pids", "pids.max")) ?? 0n],
    ["container_file_descriptors", sum(({ files }) => files)],
    ["container_sockets", sum(({ sockets }) => sockets)],
    ["container_ulimits_soft", pids[0] === undefined ? undefined : openFilesLimit(pids[0]), "max_open_files"],
  ];
}

function openFiles(pid: number): { files: number; sockets: number; threads: number } {
  try {
    const names = readdirSync(`/proc/${pid}/fd`);
    return {
      files: names.length,
      sockets: names.filter((name) => isSocket(`/proc/${pid}/fd/${name}`)).length,
      threads: readdirSync(`/proc/${pid}/task`).length,
    };
  } catch {
    // Ended between two looks.
    return { files: 0, sockets: 0, threads: 0 };
  }
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith("socket:");
  } catch {
    // Closed between two looks.
    return false;
  }
}

function openFilesLimit(pid: number): bigint | undefined {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1];
    return soft === "unlimited" ? (1n << 64n) - 1n : number(soft);
  } catch {
    // Ended between two looks.
    return undefined;
  }
}
