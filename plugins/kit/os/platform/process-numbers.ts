// What this process itself uses, as Prometheus' `process_…` series tell it. Read when asked; 0 where the kernel does not say.

import { readdirSync, readFileSync } from "node:fs";

export interface ProcessNumber {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly value: number;
}

export function processNumbers(): ProcessNumber[] {
  const { user, system } = process.cpuUsage();
  const gauge = (name: string, help: string, value: number): ProcessNumber => ({ name, type: "gauge", help, value });
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  return [
    {
      name: "process_cpu_seconds_total",
      type: "counter",
      help: "Total user and system CPU time spent in seconds.",
      value: (user + system) / 1e6,
    },
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", virtualBytes()),
    gauge("process_resident_memory_bytes", "Resident memory size in bytes.", process.memoryUsage.rss()),
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", startedAt),
    gauge("process_max_fds", "Maximum number of open file descriptors.", mostFiles()),
    gauge("process_open_fds", "Number of open file descriptors.", openFiles()),
  ];
}

function virtualBytes(): number {
  return found("/proc/self/status", /^VmSize:\s+(\d+) kB$/m) * 1024;
}

function mostFiles(): number {
  return found("/proc/self/limits", /^Max open files\s+(\d+)/m);
}

function found(path: string, number: RegExp): number {
  try {
    return Number(number.exec(readFileSync(path, "utf8"))?.[1] ?? 0);
  } catch {
    return 0; // no such file on this kernel
  }
}

function openFiles(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0; // no such folder on this kernel
  }
}
