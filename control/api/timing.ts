// How long one request takes, and how much of that was not the server's own work: waiting in line, and for webhooks.

import type { Clock } from "../../plugins/kit/base/clock.ts";

export class Timing {
  readonly #clock: Clock;
  readonly #beganAt: number;
  #elsewhereMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganAt = clock.monotonic();
  }

  get seconds(): number {
    return (this.#clock.monotonic() - this.#beganAt) / 1000;
  }

  get elsewhereSeconds(): number {
    return this.#elsewhereMs / 1000;
  }

  /** Its turn in line has come: all until now was waiting. */
  takeTurn(): void {
    this.#elsewhereMs = this.#clock.monotonic() - this.#beganAt;
  }

  spentElsewhere(ms: number): void {
    this.#elsewhereMs += ms;
  }
}
