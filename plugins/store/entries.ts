// The newest entry of every key, in key order. Owns no history and hands out what it was given.

import type { ListResult, StoreEntry } from "../kit/store.ts";
import { compareKeys, firstNot } from "./key-order.ts";

export interface Page {
  limit?: number | undefined;
  after?: string | undefined;
}

export class Entries {
  readonly #byKey = new Map<string, StoreEntry>();
  /** Sorted, except between `load` and the first read after it. */
  #keys: string[] = [];
  #isSorted = true;

  get(key: string): StoreEntry | undefined {
    return this.#byKey.get(key);
  }

  set(entry: StoreEntry): void {
    if (!this.#byKey.has(entry.key)) {
      this.#sort();
      this.#keys.splice(
        firstNot(this.#keys, (key) => compareKeys(key, entry.key) < 0),
        0,
        entry.key,
      );
    }
    this.#byKey.set(entry.key, entry);
  }

  /** Like `set`, for filling: sorts once at the end instead of at every key. */
  load(entry: StoreEntry): void {
    if (!this.#byKey.has(entry.key)) {
      this.#keys.push(entry.key);
      this.#isSorted = false;
    }
    this.#byKey.set(entry.key, entry);
  }

  delete(key: string): void {
    if (!this.#byKey.delete(key)) return;
    this.#sort();
    this.#keys.splice(
      firstNot(this.#keys, (other) => compareKeys(other, key) < 0),
      1,
    );
  }

  /** One page below the prefix, and how many entries follow it. */
  page(prefix: string, { limit, after }: Page): Pick<ListResult, "entries" | "remaining"> {
    this.#sort();
    const start =
      after !== undefined && compareKeys(after, prefix) >= 0
        ? firstNot(this.#keys, (key) => compareKeys(key, after) <= 0)
        : firstNot(this.#keys, (key) => compareKeys(key, prefix) < 0);
    const end = firstNot(this.#keys, (key) => compareKeys(key, prefix) < 0 || key.startsWith(prefix));
    const stop = Math.max(start, limit === undefined ? end : Math.min(end, start + limit));
    const entries = this.#keys.slice(start, stop).map((key) => this.#byKey.get(key) as StoreEntry);
    return { entries, remaining: Math.max(0, end - stop) };
  }

  #sort(): void {
    if (this.#isSorted) return;
    this.#keys.sort(compareKeys);
    this.#isSorted = true;
  }
}
