// The time limit of requests that are neither watches nor connections: a minute, or less where the client asks for less.
// At its end the client is told so at once, and the work is told to stop; a write on its way may still happen.

import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import { badRequest, failure } from "./status.ts";

export const defaultDeadlineMs = 60_000;

export function withinDeadline<T>(
  clock: Clock,
  limitMs: number,
  parent: Call,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const { signal } = parent;
  const controller = new AbortController();
  const pass = () => controller.abort(signal.reason);
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => {
      const fault = tooSlow();
      controller.abort(fault);
      end();
      reject(fault);
    });
    const end = () => {
      cancel();
      signal.removeEventListener("abort", pass);
    };
    work(controller).finally(end).then(resolve, reject);
  });
}

const unitsMs: Record<string, number> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  "\u00b5s": 1e-3,
  ns: 1e-6,
};

/** What the client asks for with `timeout`, as Go writes times; never more than the server's own limit. */
export function deadlineOf(asked: string | null, longestMs: number): number {
  if (asked === null || asked === "") return longestMs;
  let ms = 0;
  const rest = asked.replace(/(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|\u00b5s|ns)/g, (_, count: string, unit: string) => {
    ms += Number(count) * (unitsMs[unit] ?? 0);
    return "";
  });
  if (rest !== "" && asked !== "0")
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(asked)}`);
  return ms === 0 ? longestMs : Math.min(ms, longestMs);
}

function tooSlow(): Fault {
  const message = "Timeout: request did not complete within the allotted timeout";
  return new Fault("timeout", message, { details: failure(504, "Timeout", message, {}) });
}
