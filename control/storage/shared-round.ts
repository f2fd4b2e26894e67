// One piece of work for everyone who asks at about the same time. Whoever asks is answered by a round that began after they asked;
// those who ask while one is under way share the next.

import type { Call } from "../../plugins/kit/base/call.ts";

export class SharedRound<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  /** The work serves many and is stopped by none of them; it must end by itself. */
  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Rejects with the signal's reason when stopped; the round goes on for the others. */
  ask({ signal }: Call): Promise<T> {
    const round = this.#round();
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason);
      const leave = () => signal.removeEventListener("abort", stop);
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
      round.then(resolve, reject).finally(leave);
    });
  }

  #round(): Promise<T> {
    if (!this.#running) return this.#begin();
    const later = () => {
      this.#next = undefined;
      return this.#begin();
    };
    this.#next ??= this.#running.then(later, later);
    return this.#next;
  }

  #begin(): Promise<T> {
    const running = this.#work();
    const onEnd = () => {
      if (this.#running === running) this.#running = undefined;
    };
    this.#running = running;
    running.then(onEnd, onEnd);
    return running;
  }
}
