// Processes as /proc shows them. A pid alone may be reused: together with its start time it names one process for good.

import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

export interface ProcessName {
  readonly pid: number;
  /** Clock ticks since boot, as text. */
  readonly startTime: string;
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  readonly startTime: string;
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command in parentheses may hold anything, parentheses too.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      state: fields[0] ?? "",
      parent: Number(fields[1]),
      session: Number(fields[3]),
      startTime: fields[19] ?? "",
    };
  } catch {
    // Gone between two looks.
    return undefined;
  }
}

export function nameProcess(pid: number): ProcessName {
  return { pid, startTime: statOf(pid)?.startTime ?? "" };
}

/** Whether it still runs; a zombie does not. */
export function isAlive(named: ProcessName | undefined): boolean {
  if (!named || named.pid <= 0) return false;
  const stat = statOf(named.pid);
  return stat !== undefined && stat.startTime === named.startTime && stat.state !== "Z" && stat.state !== "X";
}

/** False when no such process exists any more. */
export function signal(pid: number, number: number): boolean {
  try {
    return process.kill(pid, number);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** False when the process is gone. */
export function signalProcess(named: ProcessName | undefined, number: number): boolean {
  return named !== undefined && isAlive(named) && signal(named.pid, number);
}

/** SIGKILLs a process with everything it started, also what has left for other parents within its session. */
export function killTree(root: number): void {
  for (let round = 0; round < 5; round++) {
    const all = new Map<number, Stat>();
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      const stat = pid > 0 ? statOf(pid) : undefined;
      if (stat && stat.state !== "Z") all.set(pid, stat);
    }
    const isBelow = (pid: number): boolean => {
      for (let at = pid, hops = 0; at > 1 && hops < 100; hops++) {
        if (at === root) return true;
        at = all.get(at)?.parent ?? 0;
      }
      return false;
    };
    const found = [...all].filter(([pid, stat]) => stat.session === root || isBelow(pid));
    if (found.length === 0) return;
    for (const [pid] of found) signal(pid, 9);
  }
}
