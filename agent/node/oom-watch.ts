// Tells when the machine itself ran out of memory and the kernel ended a process for it. What ends inside a container's own limit is told
// with that container.

import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { EventSubject, Recorder } from "../model/recorder.ts";

const lookMs = 10_000;
const longestRecord = 8192;

interface OomSources {
  /** How often the kernel has ended a process for want of memory since the machine came up. */
  readonly count: () => number;
  /** What the kernel has said, the oldest first. */
  readonly records: () => readonly string[];
}

export interface OomWatchOptions {
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly node: EventSubject;
  readonly log: Log;
  readonly sources?: OomSources;
}

export async function watchOom(options: OomWatchOptions, call: Call): Promise<void> {
  const { clock, recorder, node, log, sources = kernelSources } = options;
  try {
    let count = sources.count();
    let last = lastOf(sources.records());
    while (!call.signal.aborted) {
      await clock.sleep(lookMs, call).catch(() => {});
      if (call.signal.aborted || sources.count() === count) continue;
      count = sources.count();
      const records = sources.records();
      for (const { task, pid } of systemOoms(records, last)) {
        const message = `System OOM encountered, victim process: ${task}, pid: ${pid}`;
        recorder.event(node, "Warning", "SystemOOM", message);
        log.warn({ task, pid }, "the machine ran out of memory, and the kernel ended a process");
      }
      last = lastOf(records);
    }
  } catch (error) {
    log.info(
      { err: error },
      "the kernel's own messages cannot be read: a machine that runs out of memory is not told of",
    );
  }
}

/** Victims of the whole machine's shortage, in records that came after the given one: `6,1234,5678,-;oom-kill:constraint=…`. */
export function systemOoms(records: readonly string[], after: number): { task: string; pid: number }[] {
  return records.flatMap((record) => {
    if (numberOf(record) <= after) return [];
    const [, task, pid] = /;oom-kill:constraint=CONSTRAINT_NONE,.*,task=(.*),pid=(\d+),/.exec(record) ?? [];
    return task !== undefined && pid !== undefined ? [{ task, pid: Number(pid) }] : [];
  });
}

const numberOf = (record: string) => Number(record.split(",", 2)[1] ?? -1);
const lastOf = (records: readonly string[]) => records.reduce((last, record) => Math.max(last, numberOf(record)), -1);

const kernelSources: OomSources = {
  count: () => Number(/^oom_kill (\d+)/m.exec(readFileSync("/proc/vmstat", "utf8"))?.[1] ?? 0),
  records() {
    // Each read is one record, and without waiting the last one is followed by an error.
    const file = openSync("/dev/kmsg", constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const records: string[] = [];
      const buffer = Buffer.alloc(longestRecord);
      for (;;) {
        try {
          records.push(buffer.toString("utf8", 0, readSync(file, buffer)));
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          if (code === "EAGAIN") return records;
          // The oldest was overwritten meanwhile: the next read goes on behind it.
          if (code !== "EPIPE") throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  },
};
