// Snapshots by the clock: one when the last is older than the interval, and only the newest ones kept.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { keepNewest, listSnapshots, type SnapshotInfo } from "./files.ts";

export interface SnapshotSchedule {
  readonly everyMs: number;
  readonly keep: number;
}

interface ScheduleParts {
  readonly folder: string;
  readonly take: () => Promise<SnapshotInfo>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A failed one is tried again after this long. */
const againMs = 10 * 60_000;

/** Until the call is stopped. A restart of the program does not begin the interval anew. */
export async function runSchedule(
  { everyMs, keep }: SnapshotSchedule,
  parts: ScheduleParts,
  call: Call,
): Promise<void> {
  const { folder, take, clock, log } = parts;
  const sleep = (ms: number) => clock.sleep(Math.max(1, ms), call).catch(() => {});
  while (!call.signal.aborted) {
    const last = listSnapshots(folder).at(-1)?.takenAt ?? Number.NEGATIVE_INFINITY;
    // A last one in the future is from before the clock was set right.
    const age = Math.abs(clock.now() - last);
    if (age < everyMs) {
      await sleep(everyMs - age);
      continue;
    }
    try {
      const { name } = await take();
      const removed = keepNewest(folder, keep);
      log.info({ snapshot: name, removed }, "a snapshot was taken");
    } catch (error) {
      log.warn({ err: error }, "no snapshot could be taken");
      await sleep(Math.min(againMs, everyMs));
    }
  }
}
