// Tests of others on the same machine: what they make is not ours to complain of.

import { readdirSync, readFileSync } from "node:fs";

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Processes that run tests and were not started by this one, nor started it. */
export function otherTestRuns(own = process.pid, all: readonly Process[] = processes()): number[] {
  const parentOf = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isBelow = (pid: number | undefined, above: number): boolean =>
    pid !== undefined && (pid === above || isBelow(parentOf.get(pid), above));
  return all
    .filter(({ command }) => /(^|[\s/\0])test\/run\.ts(\0|$)|\.test\.ts(\0|$)/.test(command))
    .filter(({ pid }) => !isBelow(pid, own) && !isBelow(own, pid))
    .map(({ pid }) => pid);
}

function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8");
        const parent = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1] ?? 0);
        return [{ pid: Number(name), parent, command }];
      } catch {
        return []; // it ended while we looked
      }
    });
}
