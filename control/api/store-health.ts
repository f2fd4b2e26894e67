// Asks the store whether it answers, for the health checks: with a time limit, and not again while the last answer is fresh, so
// that frequent probes cost the store nothing.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";

/** As kube-apiserver's --etcd-healthcheck-timeout, which is also how long it takes an answer for fresh. */
const limitMs = 2_000;

export class StoreHealth {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #call: Call;
  #asked: { readonly at: number; readonly answer: Promise<string | undefined> } | undefined;

  constructor(store: Store, clock: Clock, call: Call) {
    this.#store = store;
    this.#clock = clock;
    this.#call = call;
  }

  /** What is wrong with the store, or undefined. */
  problem(): Promise<string | undefined> {
    const now = this.#clock.monotonic();
    if (!this.#asked || now - this.#asked.at >= limitMs) this.#asked = { at: now, answer: this.#ask() };
    return this.#asked.answer;
  }

  async #ask(): Promise<string | undefined> {
    if (this.#call.signal.aborted) return "the server is shutting down";
    if (!this.#store.check) return undefined;
    const limit = within(limitMs, this.#call);
    const late = new Promise<string>((resolve) => {
      limit.signal.addEventListener("abort", () => resolve(`no answer within ${limitMs / 1000}s`), { once: true });
    });
    const answer = this.#store.check(limit).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );
    return Promise.race([answer, late]);
  }
}
