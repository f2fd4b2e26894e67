// CatchUp waits until the cache shows every write that anyone was told of before, where others write to the store as well.
//
// The store's revision also moves by keys that are not ours, of which the watch tells nothing. A mark of our own, written after
// them, then comes by the watch behind everything that was there before. (etcd can be asked for its progress instead, but
// before 3.4.31 and 3.5.13 its answer may overtake events.)

import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { SharedRound } from "./shared-round.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { markKey } from "./keys.ts";

export interface CatchUpOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Resolves when the cache shows everything up to the revision. */
  reached(revision: number, call: Call): Promise<void>;
}

/** Long enough for what is on its way by the watch. */
const eventPatienceMs = 50;

export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #newest: SharedRound<number>;
  readonly #mark: SharedRound<number>;

  constructor(options: CatchUpOptions) {
    this.#options = options;
    const { store } = options;
    this.#newest = new SharedRound(async () => (await store.newest?.(uninterrupted)) ?? 0);
    this.#mark = new SharedRound(async () => {
      const result = await store.put(markKey, new Uint8Array(), "any", uninterrupted);
      return result.ok ? result.entry.revision : 0;
    });
  }

  /** Resolves when every write answered before the call is shown; at once where nobody else writes. */
  async now(call: Call): Promise<void> {
    if (!this.#options.store.newest) return;
    const newest = await this.#newest.ask(call);
    if (await this.#comesByItself(newest, call)) return;
    await this.#options.reached(await this.#mark.ask(call), call);
  }

  async #comesByItself(revision: number, call: Call): Promise<boolean> {
    const over = new AbortController();
    const waiting = { signal: AbortSignal.any([call.signal, over.signal]) };
    const isHere = this.#options.reached(revision, waiting).then(() => true);
    const isLate = this.#options.clock.sleep(eventPatienceMs, waiting).then(() => false);
    try {
      return await Promise.race([isHere, isLate]);
    } finally {
      over.abort();
      await Promise.allSettled([isHere, isLate]);
    }
  }
}
