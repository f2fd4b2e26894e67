// Answers of the API server, kept for a while so that a busy client costs one review and not one per request. Bounded;
// the oldest go first.

import type { Clock } from "../../../plugins/kit/base/clock.ts";

interface Kept<T> {
  readonly value: Promise<T>;
  until: number;
}

export class CachedAnswers<T> {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(clock: Clock, most = 4096) {
    this.#clock = clock;
    this.#most = most;
  }

  /** The kept answer, or that of `ask`; who asks meanwhile shares the question. A failure is not kept. */
  async get(key: string, ask: () => Promise<T>, keepMs: (value: T) => number): Promise<T> {
    const known = this.#kept.get(key);
    if (known && known.until > this.#clock.monotonic()) return known.value;
    const made: Kept<T> = { value: ask(), until: Number.POSITIVE_INFINITY };
    this.#kept.delete(key);
    this.#kept.set(key, made);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#most) break;
      this.#kept.delete(oldest);
    }
    try {
      const value = await made.value;
      made.until = this.#clock.monotonic() + keepMs(value);
      return value;
    } catch (error) {
      if (this.#kept.get(key) === made) this.#kept.delete(key);
      throw error;
    }
  }
}
