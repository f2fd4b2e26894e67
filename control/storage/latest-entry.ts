// What an update is tried with: the cache's entry first, which is right nearly always and known to be old when the write is
// refused; and made certain before anything is answered without a write.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Entry } from "./entry.ts";
import type { StorageRef } from "./keys.ts";
import type { WatchCache } from "./watch-cache.ts";

export class LatestEntry {
  readonly #cache: WatchCache;
  readonly #ref: StorageRef;
  readonly #local: string;
  #entry: Entry | undefined;
  #isCertain = false;

  constructor(cache: WatchCache, ref: StorageRef, local: string) {
    this.#cache = cache;
    this.#ref = ref;
    this.#local = local;
    this.#entry = this.#shown();
  }

  get entry(): Entry | undefined {
    return this.#entry;
  }

  /** Another writer was quicker; the store told what it wrote. */
  lostTo(entry: Entry | undefined): void {
    this.#entry = entry;
    this.#isCertain = true;
  }

  /** Whether the entry was behind what other servers wrote; it no longer is. */
  async wasOld(call: Call): Promise<boolean> {
    if (this.#isCertain) return false;
    this.#isCertain = true;
    await this.#cache.caughtUp(call);
    const before = this.#entry;
    this.#entry = this.#shown();
    return this.#entry?.revision !== before?.revision;
  }

  #shown(): Entry | undefined {
    return this.#cache.cache(this.#ref).get(this.#local);
  }
}
