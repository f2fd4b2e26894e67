// How long a registry may be silent before a connection to it counts as broken. Only waiting for the registry counts: whoever takes
// the bytes may be as slow as a card is.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";

export const stallMs = 60_000;

export class Patience {
  /** Stops with the caller's, and when the registry was silent for too long. */
  readonly call: Call;
  readonly #clock: Clock;
  readonly #host: string;
  readonly #stop = new AbortController();

  constructor(host: string, clock: Clock, call: Call) {
    this.#host = host;
    this.#clock = clock;
    this.call = { signal: AbortSignal.any([call.signal, this.#stop.signal]) };
  }

  async waitFor<T>(word: () => Promise<T>): Promise<T> {
    const complaint = `${this.#host} has sent nothing for ${stallMs / 1000} s`;
    const cancel = this.#clock.after(stallMs, () => this.#stop.abort(new Fault("unavailable", complaint)));
    try {
      return await word();
    } finally {
      cancel();
    }
  }

  /** The body of a response that was asked for with `call`. */
  async *body(response: Response): AsyncGenerator<Uint8Array, void, void> {
    if (!response.body) return;
    const reader = response.body.getReader();
    let isOver = false;
    try {
      for (;;) {
        const { done, value } = await this.waitFor(() => reader.read()).catch((error: unknown) => {
          isOver = true;
          throw this.#stop.signal.aborted ? this.#stop.signal.reason : error;
        });
        isOver = done;
        if (done) return;
        yield value;
      }
    } finally {
      if (!isOver) await reader.cancel();
    }
  }
}
