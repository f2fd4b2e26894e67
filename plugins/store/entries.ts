// The newest entry of every key, listed in key order. Owns no history and hands out what it was given.

import type { ListResult, StoreEntry } from "../kit/contracts/store.ts";
import { compareKeys, firstNot } from "./key-order.ts";

export interface Page {
  limit?: number | undefined;
  after?: string | undefined;
}

export class Entries {
  readonly #byKey = new Map<string, StoreEntry>();
  /**
   * Put in order for a list, and let go when a key comes or goes: lists are rare (whoever reads often keeps a cache), and an order
   * kept up at each write would cost every write the number of keys.
   */
  #sorted: readonly string[] | undefined;

  get(key: string): StoreEntry | undefined {
    return this.#byKey.get(key);
  }

  set(entry: StoreEntry): void {
    if (this.#sorted && !this.#byKey.has(entry.key)) this.#sorted = undefined;
    this.#byKey.set(entry.key, entry);
  }

  delete(key: string): void {
    if (this.#byKey.delete(key)) this.#sorted = undefined;
  }

  /** One page below the prefix, and how many entries follow it. */
  page(prefix: string, { limit, after }: Page): Pick<ListResult, "entries" | "remaining"> {
    const keys = (this.#sorted ??= [...this.#byKey.keys()].sort(compareKeys));
    const start =
      after !== undefined && compareKeys(after, prefix) >= 0
        ? firstNot(keys, (key) => compareKeys(key, after) <= 0)
        : firstNot(keys, (key) => compareKeys(key, prefix) < 0);
    const end = firstNot(keys, (key) => compareKeys(key, prefix) < 0 || key.startsWith(prefix));
    const stop = Math.max(start, limit === undefined ? end : Math.min(end, start + limit));
    const entries = keys.slice(start, stop).map((key) => this.#byKey.get(key) as StoreEntry);
    return { entries, remaining: Math.max(0, end - stop) };
  }
}
