// Clock is where time comes from. Code that waits or stamps takes one, so that tests own time.

import type { Call } from "./call.ts";

export interface Clock {
  /** Wall time in milliseconds since 1970; may jump when the host's clock is set. */
  now(): number;
  /** Milliseconds that only rise; for measuring and for time-outs. */
  monotonic(): number;
  /** Runs `then` once after `delayMs`; the returned function cancels it and may be called twice. */
  after(delayMs: number, then: () => void): () => void;
  /** Resolves after `delayMs`; rejects with the signal's reason when stopped. */
  sleep(delayMs: number, call: Call): Promise<void>;
}

// setTimeout takes at most 2^31-1 ms; a longer wait is made of several.
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, then) {
    let left = Math.max(0, delayMs);
    let timer: NodeJS.Timeout;
    const arm = () => {
      const step = Math.min(left, longestTimerMs);
      left -= step;
      timer = setTimeout(() => (left > 0 ? arm() : then()), step);
    };
    arm();
    return () => clearTimeout(timer);
  },
  sleep: (delayMs, call) => sleepOn(systemClock, delayMs, call),
};

function sleepOn(clock: Clock, delayMs: number, call: Call): Promise<void> {
  return new Promise((resolve, reject) => {
    if (call.signal.aborted) return reject(call.signal.reason);
    const onAbort = () => {
      cancel();
      reject(call.signal.reason);
    };
    const cancel = clock.after(delayMs, () => {
      call.signal.removeEventListener("abort", onAbort);
      resolve();
    });
    call.signal.addEventListener("abort", onAbort, { once: true });
  });
}

interface Alarm {
  at: number;
  order: number;
  then: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now: number;
  readonly #startedAt: number;
  #order = 0;
  #alarms: Alarm[] = [];

  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
    this.#startedAt = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#startedAt;
  }

  after(delayMs: number, then: () => void): () => void {
    const alarm = { at: this.#now + Math.max(0, delayMs), order: this.#order++, then };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  sleep(delayMs: number, call: Call): Promise<void> {
    return sleepOn(this, delayMs, call);
  }

  /** How many alarms are set: lets a test wait until the code under test sleeps. */
  get pending(): number {
    return this.#alarms.length;
  }

  /** Moves time forward, ringing each alarm at its own moment and letting promises settle between them. */
  async advance(byMs: number): Promise<void> {
    const until = this.#now + byMs;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const due = this.#alarms.filter((alarm) => alarm.at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!due) break;
      this.#alarms = this.#alarms.filter((alarm) => alarm !== due);
      this.#now = Math.max(this.#now, due.at);
      due.then();
    }
    this.#now = until;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
