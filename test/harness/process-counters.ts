// What processes use, from the kernel's own counters, and how benchmarks tell it.

import { readFileSync } from "node:fs";

/** Of the kernel's clock, which counts CPU time in hundredths of a second on every Linux that Node runs on. */
const ticksPerSecond = 100;

export interface Counters {
  readonly resident: number;
  readonly proportional: number;
  readonly cpuSeconds: number;
  readonly writtenBytes: number;
}

export const sumOf = (all: readonly Counters[]): Counters => ({
  resident: all.reduce((total, one) => total + one.resident, 0),
  proportional: all.reduce((total, one) => total + one.proportional, 0),
  cpuSeconds: all.reduce((total, one) => total + one.cpuSeconds, 0),
  writtenBytes: all.reduce((total, one) => total + one.writtenBytes, 0),
});

export function countersOf(pid: number): Counters {
  const proc = `/proc/${pid}`;
  const field = (text: string, name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
  const maps = readFileSync(`${proc}/smaps_rollup`, "utf8");
  const stat = readFileSync(`${proc}/stat`, "utf8");
  // After the name, which may hold anything: user, system, and both of children that were waited for.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return {
    resident: field(maps, "Rss") * 1024,
    proportional: field(maps, "Pss") * 1024,
    cpuSeconds: times.reduce((total, ticks) => total + Number(ticks), 0) / ticksPerSecond,
    writtenBytes: field(readFileSync(`${proc}/io`, "utf8"), "write_bytes"),
  };
}

/** What was used between two looks, and what is held at the second. */
export function reportCounters(label: string, before: Counters, after: Counters, seconds: number): void {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const cpu = after.cpuSeconds - before.cpuSeconds;
  const written = after.writtenBytes - before.writtenBytes;
  const perHour = (amount: number) => (amount * 3600) / seconds;
  console.log(
    [
      `${label}:`,
      `  resident ${megabytes(after.resident)} MB (${megabytes(after.proportional)} MB with shared pages split)`,
      `  CPU ${perHour(cpu).toFixed(1)} s an hour, ${((cpu / seconds) * 100).toFixed(2)} % of a core`,
      `  written ${megabytes(perHour(written))} MB an hour, ${megabytes(perHour(written) * 24)} MB a day`,
    ].join("\n"),
  );
}
