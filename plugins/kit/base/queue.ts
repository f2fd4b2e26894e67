// A work queue of keys: de-duplicated, delayed, rate limited by key. The one place that retries and backs off.
//
// Invariants: a key waits in line at most once; a key being worked on is never worked on a second time at once; a key
// added meanwhile goes back in line when that work ends; a pending delay only ever moves to an earlier moment.

import type { Call } from "./call.ts";
import type { Clock } from "./clock.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  readonly name?: string;
  /** Told of every key that is taken out of line, how long it had waited there. */
  readonly onTaken?: (waitedMs: number) => void;
  /** Told of every failure of the work; the key is retried by itself with growing delays. */
  readonly onError?: (key: string, error: unknown, retryInMs: number) => void;
}

export class WorkQueue<K extends string> {
  readonly name: string;
  readonly #clock: Clock;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #onTaken: WorkQueueOptions["onTaken"];
  readonly #onError: WorkQueueOptions["onError"];
  /** With the moment at which each was put there. */
  readonly #line = new Map<K, number>();
  readonly #working = new Set<K>();
  readonly #again = new Set<K>();
  readonly #delayed = new Map<K, { at: number; cancel: () => void }>();
  readonly #failures = new Map<K, number>();
  readonly #idle: (() => void)[] = [];

  constructor(options: WorkQueueOptions) {
    this.name = options.name ?? "";
    this.#clock = options.clock;
    this.#baseDelayMs = options.baseDelayMs ?? 5;
    this.#maxDelayMs = options.maxDelayMs ?? 1_000_000;
    this.#onTaken = options.onTaken;
    this.#onError = options.onError;
  }

  /** Keys in line, not counting delayed ones and those being worked on. */
  get length(): number {
    return this.#line.size;
  }

  /** Puts the key in line now, whatever delay it had. */
  add(key: K): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
    if (this.#working.has(key)) {
      this.#again.add(key);
      return;
    }
    if (!this.#line.has(key)) this.#line.set(key, this.#clock.monotonic());
    this.#idle.shift()?.();
  }

  /** Puts the key in line after the delay; the earliest of several such wishes counts. */
  addAfter(key: K, delayMs: number): void {
    if (delayMs <= 0) return this.add(key);
    if (this.#line.has(key)) return;
    const at = this.#clock.monotonic() + delayMs;
    const known = this.#delayed.get(key);
    if (known && known.at <= at) return;
    known?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { at, cancel });
  }

  /** Puts the key in line after a delay that doubles with each call until `forget`. Returns the delay. */
  addRateLimited(key: K): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = Math.min(this.#baseDelayMs * 2 ** Math.min(failures, 40), this.#maxDelayMs);
    this.addAfter(key, delayMs);
    return delayMs;
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }

  retries(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * Works until the call is stopped, at most `workers` keys at once; ends when the work under way has ended.
   * Work that throws is retried with growing delays; work that returns has its failures forgotten, unless it asked for a
   * rate-limited retry itself. Returning a number runs the key again after so many milliseconds.
   */
  async run(
    workers: number,
    work: (key: K, call: Call) => Promise<number | undefined | void>,
    call: Call,
  ): Promise<void> {
    const wakeAll = () => {
      for (const wake of this.#idle.splice(0)) wake();
    };
    call.signal.addEventListener("abort", wakeAll, { once: true });
    try {
      await Promise.all(Array.from({ length: workers }, () => this.#serve(work, call)));
    } finally {
      call.signal.removeEventListener("abort", wakeAll);
      if (call.signal.aborted) this.#cancelDelays();
    }
  }

  async #serve(work: (key: K, call: Call) => Promise<number | undefined | void>, call: Call): Promise<void> {
    while (!call.signal.aborted) {
      const key = this.#next();
      if (key === undefined) {
        await new Promise<void>((resolve) => this.#idle.push(resolve));
        continue;
      }
      await this.#workOn(key, work, call);
    }
  }

  #next(): K | undefined {
    for (const [key, since] of this.#line) {
      this.#line.delete(key);
      this.#working.add(key);
      this.#onTaken?.(this.#clock.monotonic() - since);
      return key;
    }
    return undefined;
  }

  async #workOn(key: K, work: (key: K, call: Call) => Promise<number | undefined | void>, call: Call): Promise<void> {
    const failuresBefore = this.retries(key);
    try {
      const againInMs = await work(key, call);
      if (this.retries(key) === failuresBefore) this.forget(key);
      if (typeof againInMs === "number") this.addAfter(key, againInMs);
    } catch (error) {
      if (call.signal.aborted) return;
      const retryInMs = this.addRateLimited(key);
      this.#onError?.(key, error, retryInMs);
    } finally {
      this.#working.delete(key);
      if (this.#again.delete(key)) this.add(key);
    }
  }

  #cancelDelays(): void {
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
  }
}
