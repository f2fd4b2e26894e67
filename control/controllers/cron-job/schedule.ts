// Cron schedules: five fields, `@hourly` and its like, `@every 90m`, with a time zone of their own. Pure.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type CronFields, parseCron } from "../../resources/batch/cron-format.ts";
import { type WallClock, wallClock } from "./wall-clock.ts";

export interface Schedule {
  /** The first moment after the given one, or undefined when it does not come within five years. */
  next(after: number): number | undefined;
}

const minuteMs = 60_000;

/** Fault invalid, in words for an event, when it cannot be understood. */
export function parseSchedule(text: string, timeZone?: string | null): Schedule {
  const inline = /^(?:CRON_)?TZ=(\S+)\s+/.exec(text.trim());
  const fields = parseCron(text.trim());
  if ("problem" in fields) throw new Fault("invalid", fields.problem);
  if ("everyMs" in fields && fields.everyMs <= 0) throw new Fault("invalid", `"${text}" goes backwards`);
  if ("everyMs" in fields) return { next: (after) => Math.floor(after / 1000) * 1000 + fields.everyMs };
  const clock = wallClock(timeZone ?? inline?.[1]);
  return { next: (after) => nextMoment(fields, clock, after) };
}

/**
 * The first minute whose reading of the wall clock fits. So what the clock skips in spring does not happen, and what it shows twice in
 * autumn happens twice, as upstream has it.
 */
function nextMoment(fields: CronFields, clock: WallClock, after: number): number | undefined {
  let at = (Math.floor(after / minuteMs) + 1) * minuteMs;
  const lastYear = clock.at(at).year + 5;
  for (;;) {
    const { year, month, day, dayOfWeek, hour, minute } = clock.at(at);
    if (year > lastYear) return undefined;
    if (!fields.month.values.has(month)) at = clock.startOfDay({ year, month: month + 1, day: 1 }, at);
    else if (!isDay(fields, day, dayOfWeek)) at = clock.startOfDay({ year, month, day: day + 1 }, at);
    else if (!fields.hour.values.has(hour)) at += (60 - minute) * minuteMs;
    else if (!fields.minute.values.has(minute)) at += (nextValue(fields.minute.values, minute) - minute) * minuteMs;
    else return at;
  }
}

/** Where both kinds of day are said, either will do. */
function isDay({ dayOfMonth, dayOfWeek }: CronFields, day: number, weekDay: number): boolean {
  const isDate = dayOfMonth.values.has(day);
  const isWeekDay = dayOfWeek.values.has(weekDay);
  return dayOfMonth.isAny || dayOfWeek.isAny ? isDate && isWeekDay : isDate || isWeekDay;
}

/** The next one in the same hour, or the hour's end. */
function nextValue(values: ReadonlySet<number>, minute: number): number {
  let next = minute + 1;
  while (next < 60 && !values.has(next)) next++;
  return next;
}

/**
 * The last moment in (after, until] and about how many there are in it, or undefined. Found by looking back from the end in doubling
 * steps, however long ago `after` is; by whole gaps from the first, so that `@every` keeps its beat.
 */
export function latestWithin(
  schedule: Schedule,
  after: number,
  until: number,
): { at: number; count: number } | undefined {
  const first = schedule.next(after);
  if (first === undefined || first > until) return undefined;
  const second = schedule.next(first);
  if (second === undefined || second > until) return { at: first, count: 1 };
  const gap = second - first;
  const gaps = Math.floor((until - first) / gap);
  let from = first;
  for (let back = 1; back < gaps; back *= 2) {
    const found = schedule.next(first + (gaps - back) * gap);
    if (found === undefined || found > until) continue;
    from = found;
    break;
  }
  for (;;) {
    const next = schedule.next(from);
    if (next === undefined || next > until || next <= from) return { at: from, count: gaps + 1 };
    from = next;
  }
}
