// Notices that nothing has moved for too long. Touching it is cheap: no timer is set anew.

import type { Clock } from "../../plugins/kit/base/clock.ts";

export class IdleTimer {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #onIdle: () => void;
  #touchedAt: number;
  #cancel = () => {};

  /** Never rings when `timeoutMs` is 0. */
  constructor(clock: Clock, timeoutMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#onIdle = onIdle;
    this.#touchedAt = clock.monotonic();
    if (timeoutMs > 0) this.#arm(timeoutMs);
  }

  touch(): void {
    this.#touchedAt = this.#clock.monotonic();
  }

  stop(): void {
    this.#cancel();
  }

  #arm(delayMs: number): void {
    this.#cancel = this.#clock.after(delayMs, () => {
      const leftMs = this.#timeoutMs - (this.#clock.monotonic() - this.#touchedAt);
      if (leftMs > 0) this.#arm(leftMs);
      else this.#onIdle();
    });
  }
}
