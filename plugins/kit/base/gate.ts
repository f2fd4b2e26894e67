// Lets a few through at once; the rest wait in the order they came. Whoever waited begins on a fresh turn of the event loop, so that
// a hundred pods at once do not stop everything else.

import type { Clock } from "./clock.ts";

export interface GateOptions {
  readonly width: number;
  readonly clock: Clock;
  /** Whoever takes longer lets the next one in, so that a few that hang do not hold up all others. */
  readonly patienceMs: number;
}

export class Gate {
  readonly #options: GateOptions;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(options: GateOptions) {
    this.#options = options;
    this.#free = options.width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      const next = this.#waiting.shift();
      if (next) setImmediate(next);
      else this.#free++;
    };
    const cancel = this.#options.clock.after(this.#options.patienceMs, leave);
    try {
      return await work();
    } finally {
      cancel();
      leave();
    }
  }
}
