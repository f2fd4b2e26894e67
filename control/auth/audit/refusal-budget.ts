// How many refusals are recorded beyond what the rules ask for: a few at once, then one now and then. The rest is counted.

import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { RefusalLimits } from "./policy.ts";

export class RefusalBudget {
  readonly #limits: RefusalLimits;
  readonly #clock: Clock;
  #left: number;
  #at: number;
  #unrecorded = 0;

  constructor(limits: RefusalLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#left = limits.burst;
    this.#at = clock.monotonic();
  }

  /** How many were left out since the last one that was recorded; undefined when this one is to be left out as well. */
  take(): number | undefined {
    const { burst, everyMs } = this.#limits;
    const earned = Math.floor((this.#clock.monotonic() - this.#at) / everyMs);
    this.#left = Math.min(burst, this.#left + earned);
    this.#at += earned * everyMs;
    if (this.#left === 0) {
      this.#unrecorded++;
      return undefined;
    }
    this.#left--;
    const unrecorded = this.#unrecorded;
    this.#unrecorded = 0;
    return unrecorded;
  }
}
