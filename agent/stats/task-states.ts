// What the threads of a control group are doing, from /proc, and the load that they make, as cAdvisor counts both.

import { readFileSync } from "node:fs";

export interface TaskStates {
  readonly running: number;
  readonly sleeping: number;
  readonly stopped: number;
  readonly uninterruptible: number;
  readonly ioWaiting: number;
}

const stateOf: Readonly<Record<string, keyof TaskStates>> = {
  R: "running",
  S: "sleeping",
  I: "sleeping",
  T: "stopped",
  t: "stopped",
  D: "uninterruptible",
};

export function taskStates(threads: readonly number[], proc = "/proc"): TaskStates {
  const counts = { running: 0, sleeping: 0, stopped: 0, uninterruptible: 0, ioWaiting: 0 };
  for (const thread of threads) {
    try {
      const stat = readFileSync(`${proc}/${thread}/stat`, "latin1");
      // The name stands in brackets, and may hold any character.
      const state = stateOf[stat[stat.lastIndexOf(")") + 2] ?? ""];
      if (!state) continue;
      counts[state === "uninterruptible" && isWaitingForDisk(thread, proc) ? "ioWaiting" : state]++;
    } catch {
      // It ended meanwhile.
    }
  }
  return counts;
}

function isWaitingForDisk(thread: number, proc: string): boolean {
  try {
    return readFileSync(`${proc}/${thread}/wchan`, "latin1").startsWith("io_schedule");
  } catch {
    // It goes on again, or the kernel does not tell.
    return false;
  }
}

const windowMs = 10_000;

/** Running threads, averaged so that what was ten seconds ago weighs a third. */
export class LoadAverages {
  readonly #last = new Map<string, { at: number; load: number }>();

  average(key: string, at: number, running: number): number {
    const last = this.#last.get(key);
    const elapsedMs = last ? Math.max(0, at - last.at) : 0;
    const weight = Math.exp(-elapsedMs / windowMs);
    const load = last ? last.load * weight + running * (1 - weight) : running;
    this.#last.set(key, { at, load });
    return load;
  }

  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#last.keys()) if (!keys.has(key)) this.#last.delete(key);
  }
}
