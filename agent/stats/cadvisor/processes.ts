// The processes of a control group, as `ps` would list them, from /proc.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { totalmem } from "node:os";
import { timeOf } from "./stats-document.ts";

const ticksPerSecond = 100;
const pageBytes = 4096;

export interface ProcessFacts {
  readonly bootedAt: number;
  readonly now: number;
  readonly cgroup: string;
}

/** Those that have ended meanwhile are left out. */
export function processList(pids: readonly number[], facts: ProcessFacts): object[] {
  const users = userNames();
  return pids.flatMap((pid) => {
    try {
      return [processDocument(pid, facts, users)];
    } catch {
      return [];
    }
  });
}

function processDocument(pid: number, { bootedAt, now, cgroup }: ProcessFacts, users: Map<string, string>): object {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const of = (index: number) => Number(fields[index - 3] ?? 0);
  const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";
  const startedAt = bootedAt + (of(22) / ticksPerSecond) * 1000;
  const cpuSeconds = (of(14) + of(15)) / ticksPerSecond;
  const rss = of(24) * pageBytes;
  const part = (value: number, whole: number) => (whole > 0 ? Math.round((value / whole) * 1000) / 10 : 0);
  return {
    user: users.get(uid) ?? uid,
    pid,
    parent_pid: of(4),
    start_time: timeOf(startedAt),
    percent_cpu: part(cpuSeconds * 1000, now - startedAt),
    percent_mem: part(rss, totalmem()),
    rss,
    virtual_size: of(23),
    status: fields[0] ?? "",
    running_time: clockTime(cpuSeconds),
    cgroup_path: cgroup,
    cmd: name,
    fd_count: openFiles(pid).files,
    psr: of(39),
  };
}

/** How many files a process holds open, and how many of them are sockets. Nothing where it may not be looked at. */
export function openFiles(pid: number): { readonly files: number; readonly sockets: number } {
  let files = 0;
  let sockets = 0;
  try {
    for (const name of readdirSync(`/proc/${pid}/fd`)) {
      files++;
      if (readlinkSync(`/proc/${pid}/fd/${name}`).startsWith("socket:")) sockets++;
    }
  } catch {
    // It ended, or closed a file meanwhile: what was counted stands.
  }
  return { files, sockets };
}

/** The soft limit of files that a process may hold open, -1 for none; undefined when it has ended. */
export function mostOpenFiles(pid: number): number | undefined {
  try {
    const most = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1];
    return most === undefined ? undefined : most === "unlimited" ? -1 : Number(most);
  } catch {
    return undefined;
  }
}

function clockTime(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function userNames(): Map<string, string> {
  try {
    const rows = readFileSync("/etc/passwd", "utf8").split("\n");
    return new Map(rows.map((row) => row.split(":")).map(([name = "", , uid = ""]) => [uid, name] as const));
  } catch {
    return new Map();
  }
}
