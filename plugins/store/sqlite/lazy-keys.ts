// Keys below lazy prefixes: which changed since the last flush, and which row of the log holds each one's last flush.

import type { StoreEntry } from "../../kit/contracts/store.ts";
import type { Row } from "./protocol.ts";

export interface Flush {
  readonly keys: readonly string[];
  readonly rows: readonly Row[];
  readonly removed: readonly number[];
}

export class LazyKeys {
  readonly #prefixes: readonly string[];
  readonly #rowByKey = new Map<string, number>();
  readonly #changed = new Set<string>();
  /** Keys of a flush that failed: the disk may have taken their rows away, or not. */
  readonly #doubtful = new Set<string>();
  #hasNews = false;

  constructor(prefixes: readonly string[]) {
    this.#prefixes = prefixes;
  }

  get isUsed(): boolean {
    return this.#prefixes.length > 0;
  }

  get changed(): ReadonlySet<string> {
    return this.#changed;
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

  /** The key has the value of that revision now, or none. What is written already is no change. */
  change(key: string, revision: number | undefined): void {
    const written = this.#rowByKey.get(key);
    if (written === revision && !this.#doubtful.has(key)) return;
    this.#changed.add(key);
    if (revision === undefined || written === undefined) this.#hasNews = true;
  }

  /** Notes the row found at start. */
  found(key: string, revision: number): void {
    this.#rowByKey.set(key, revision);
  }

  /** The rows to write and to remove so that the log holds of these keys what `get` tells. */
  begin(get: (key: string) => StoreEntry | undefined, keys: Iterable<string>): Flush {
    const flush = { keys: [...keys], rows: [] as Row[], removed: [] as number[] };
    for (const key of flush.keys) {
      const entry = get(key);
      const written = this.#rowByKey.get(key);
      if (written === entry?.revision && !this.#doubtful.has(key)) continue;
      if (written !== undefined) flush.removed.push(written);
      if (entry) flush.rows.push({ ...entry, isLazy: true });
    }
    return flush;
  }

  /** What `begin` told is durable now. */
  end(flush: Flush): void {
    const written = new Map(flush.rows.map((row) => [row.key, row.revision]));
    const removed = new Set(flush.removed);
    for (const key of flush.keys) {
      const row = this.#rowByKey.get(key);
      const revision = written.get(key);
      if (revision !== undefined) this.#rowByKey.set(key, revision);
      else if (row !== undefined && removed.has(row)) this.#rowByKey.delete(key);
      this.#changed.delete(key);
      this.#doubtful.delete(key);
    }
    if (this.#changed.size === 0) this.#hasNews = false;
  }

  /** What `begin` told was not made durable: the next flush writes these keys in any case. */
  doubt(flush: Flush): void {
    for (const key of flush.keys) {
      this.#changed.add(key);
      this.#doubtful.add(key);
    }
  }
}
