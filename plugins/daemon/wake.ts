// Lets a daemon's loop sleep until something happened or a while has passed: what happens meanwhile is remembered, never lost.

import type { Call } from "../kit/base/call.ts";
import type { Clock } from "../kit/base/clock.ts";

export class Wake {
  readonly #clock: Clock;
  readonly #call: Call;
  readonly #onAbort = () => this.ring();
  #isRung = false;
  #answer: () => void = () => {};

  /** Rings by itself when the call is stopped. */
  constructor(clock: Clock, call: Call) {
    this.#clock = clock;
    this.#call = call;
    call.signal.addEventListener("abort", this.#onAbort);
  }

  ring(): void {
    this.#isRung = true;
    this.#answer();
  }

  /** True when it was rung since the last time, false when the time passed without. */
  next(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (isRung: boolean) => {
        cancel();
        this.#answer = () => {};
        this.#isRung = false;
        resolve(isRung);
      };
      const cancel = this.#clock.after(ms, () => finish(false));
      this.#answer = () => finish(true);
      if (this.#isRung || this.#call.signal.aborted) finish(true);
    });
  }

  /** Waits for the work, or for the end of the call. */
  async for(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = work.then(
      () => undefined,
      () => undefined,
    );
    void done.then(() => {
      isDone = true;
      this.ring();
    });
    while (!isDone && !this.#call.signal.aborted) await this.next(60_000);
  }

  close(): void {
    this.#call.signal.removeEventListener("abort", this.#onAbort);
  }
}
