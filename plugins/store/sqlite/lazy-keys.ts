// Keys below lazy prefixes: which changed since the last flush, and which row of the log holds each one's last flush.

import type { StoreEntry } from "../../kit/store.ts";
import type { Row } from "./protocol.ts";

export interface Flush {
  readonly rows: readonly Row[];
  readonly removed: readonly number[];
}

export class LazyKeys {
  readonly #prefixes: readonly string[];
  readonly #rowByKey = new Map<string, number>();
  #changed = new Set<string>();
  #hasNews = false;

  constructor(prefixes: readonly string[]) {
    this.#prefixes = prefixes;
  }

  get isUsed(): boolean {
    return this.#prefixes.length > 0;
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** Whether a key came or went since the last flush; one that is written and only has another value is no news. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  includes(key: string): boolean {
    return this.#prefixes.some((prefix) => key.startsWith(prefix));
  }

  change(key: string, isThere: boolean): void {
    this.#changed.add(key);
    if (!isThere || !this.#rowByKey.has(key)) this.#hasNews = true;
  }

  /** Notes the row found at start. */
  found(key: string, revision: number): void {
    this.#rowByKey.set(key, revision);
  }

  /** The rows to write and to remove so that the log holds what `get` tells. Changes from now on belong to the next. */
  begin(get: (key: string) => StoreEntry | undefined): Flush {
    const rows: Row[] = [];
    const removed: number[] = [];
    for (const key of this.#changed) {
      const entry = get(key);
      const written = this.#rowByKey.get(key);
      if (written !== undefined && written !== entry?.revision) removed.push(written);
      if (entry && written !== entry.revision) rows.push({ ...entry, isLazy: true });
    }
    return { rows, removed };
  }

  /** What `begin` told is durable now. */
  end(flush: Flush, get: (key: string) => StoreEntry | undefined): void {
    const removed = new Set(flush.removed);
    for (const [key, revision] of this.#rowByKey) if (removed.has(revision)) this.#rowByKey.delete(key);
    for (const row of flush.rows) this.#rowByKey.set(row.key, row.revision);
    this.#changed = new Set([...this.#changed].filter((key) => get(key)?.revision !== this.#rowByKey.get(key)));
    this.#hasNews = [...this.#changed].some((key) => !get(key) || !this.#rowByKey.has(key));
  }
}
