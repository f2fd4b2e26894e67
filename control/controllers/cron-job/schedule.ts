// Cron schedules: five fields, `@hourly` and its like, `@every 90m`, with a time zone of their own. Pure.

import { Cron } from "croner";
import { Fault } from "../../../plugins/kit/fault.ts";

export interface Schedule {
  /** The first moment after the given one, or undefined when it never comes. */
  next(after: number): number | undefined;
}

/** Fault invalid, in words for an event, when it cannot be understood. */
export function parseSchedule(text: string, timeZone?: string | null): Schedule {
  const inline = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text.trim());
  const pattern = (inline?.[2] ?? text).trim();
  const zone = timeZone ?? inline?.[1];
  const every = /^@every\s+(\S+)$/.exec(pattern);
  if (every) {
    const ms = durationMs(every[1] ?? "");
    if (!ms) throw new Fault("invalid", `cannot read the duration of "${pattern}"`);
    return { next: (after) => Math.floor(after / 1000) * 1000 + ms };
  }
  try {
    // A question mark means "any" here, not "now".
    const cron = new Cron(pattern.replaceAll("?", "*"), { paused: true, ...(zone ? { timezone: zone } : {}) });
    return { next: (after) => cron.nextRun(new Date(after))?.getTime() };
  } catch (cause) {
    throw new Fault("invalid", `cannot read "${text}": ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `1h30m`; whole seconds, at least one. */
function durationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g))
    total += Number(amount) * (units[unit ?? ""] ?? 0);
  return Math.max(1000, Math.floor(total / 1000) * 1000);
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
