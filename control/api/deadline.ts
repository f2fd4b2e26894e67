// The time limit of requests that are neither watches nor connections: a minute, or less where the client asks for less.
// At its end the client is told so at once, and the work is told to stop; a write on its way may still happen.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { badRequest, failure } from "../machinery/status.ts";

export const defaultDeadlineMs = 60_000;

export async function withinDeadline<T>(
  clock: Clock,
  limitMs: number,
  parent: Call,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const call = new BoundedCall(parent);
  const { promise: over, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(limitMs, () => {
    const fault = tooSlow();
    call.stop(fault);
    reject(fault);
  });
  try {
    return await Promise.race([work(call), over]);
  } finally {
    cancel();
    call.end();
  }
}

/** Stops with its parent or when told. Most work ends at once and never asks: the signal is made only when it does. */
class BoundedCall implements Call {
  readonly #parent: Call;
  #controller: AbortController | undefined;
  #stopped: Fault | undefined;
  readonly #pass = () => this.#controller?.abort(this.#parent.signal.reason);

  constructor(parent: Call) {
    this.#parent = parent;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      const { signal } = this.#parent;
      if (this.#stopped) this.#controller.abort(this.#stopped);
      else if (signal.aborted) this.#pass();
      else signal.addEventListener("abort", this.#pass, { once: true });
    }
    return this.#controller.signal;
  }

  stop(fault: Fault): void {
    this.#stopped = fault;
    this.#controller?.abort(fault);
  }

  /** The parent may live on: it holds on to us no longer. */
  end(): void {
    if (this.#controller) this.#parent.signal.removeEventListener("abort", this.#pass);
  }
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
