// What the clock on the wall shows in a time zone, and when a day begins there, whatever is skipped or shown twice.

import { Fault } from "../../../plugins/kit/base/fault.ts";

interface WallDate {
  readonly year: number;
  /** 1 to 12; larger ones run into the next year, as days do into the next month. */
  readonly month: number;
  readonly day: number;
}

interface WallReading extends WallDate {
  /** 0 is Sunday. */
  readonly dayOfWeek: number;
  readonly hour: number;
  readonly minute: number;
}

export interface WallClock {
  at(moment: number): WallReading;
  /** The first moment of the day; `near` is one not long before it. */
  startOfDay(date: WallDate, near: number): number;
}

/** Clocks are set by a multiple of this. */
const stepMs = 15 * 60_000;
const minuteMs = 60_000;

/** Without a zone, that of the machine. Fault `invalid` for one that nobody knows. */
export function wallClock(timeZone?: string): WallClock {
  const at = timeZone === undefined ? localReading : zoneReading(timeZone);
  return { at, startOfDay: (date, near) => startOfDay(at, date, near) };
}

function localReading(moment: number): WallReading {
  const date = new Date(moment);
  return {
    year: date.getFullYear(),
    month: date.getMonth() + 1,
    day: date.getDate(),
    dayOfWeek: date.getDay(),
    hour: date.getHours(),
    minute: date.getMinutes(),
  };
}

function zoneReading(timeZone: string): (moment: number) => WallReading {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch (cause) {
    throw new Fault("invalid", `unknown time zone ${timeZone}`, { cause });
  }
  return (moment) => {
    const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    return { year, month, day, hour, minute, dayOfWeek: new Date(Date.UTC(year, month - 1, day)).getUTCDay() };
  };
}

const asUtc = ({ year, month, day }: WallDate) => Date.UTC(year, month - 1, day);

function startOfDay(at: (moment: number) => WallReading, date: WallDate, near: number): number {
  const wanted = asUtc(date);
  const now = at(near);
  const offset = asUtc(now) + (now.hour * 60 + now.minute) * minuteMs - near;
  let start = wanted - offset;
  const guess = at(start);
  // Where the clock was set in between, the guess is off by as much.
  if (asUtc(guess) === wanted) start -= (guess.hour * 60 + guess.minute) * minuteMs;
  while (asUtc(at(start)) < wanted) start += stepMs;
  return start;
}
