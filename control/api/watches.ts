// The open watches of a server, so that all can be ended when it closes, and counted; and what their clients have not read,
// by user: one watch may hold some megabytes, so many of them need a bound of their own.

import { tooManyRequests } from "../machinery/status.ts";

export interface Watched {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly scope: "cluster" | "namespace";
}

/** Bytes that all watches of one user may hold. */
const defaultUnreadBytes = 64 << 20;
/** How long a sum counts: making it costs a look at every watch of the user. */
const sumIsGoodForMs = 50;

interface Unread {
  readonly watches: Set<() => number>;
  sum: number;
  summedAt: number;
}

export class Watches {
  readonly #ofByEnd = new Map<() => void, Watched>();
  readonly #unreadByUser = new Map<string, Unread>();
  readonly #mostUnreadBytes: number;

  constructor(mostUnreadBytes = defaultUnreadBytes) {
    this.#mostUnreadBytes = mostUnreadBytes;
  }

  /** Before a watch: throws 429 for a user whose watches are not read. */
  admit(user: string): void {
    if (this.isOverBudget(user))
      throw tooManyRequests(`Too many watches of user ${JSON.stringify(user)} are not read.`, 1);
  }

  /** Counts what a watch holds until the returned function is called. */
  count(user: string, bytes: () => number): () => void {
    const unread = this.#unreadByUser.get(user) ?? { watches: new Set(), sum: 0, summedAt: 0 };
    this.#unreadByUser.set(user, unread);
    unread.watches.add(bytes);
    return () => {
      unread.watches.delete(bytes);
      if (unread.watches.size === 0) this.#unreadByUser.delete(user);
    };
  }

  isOverBudget(user: string): boolean {
    const unread = this.#unreadByUser.get(user);
    if (!unread) return false;
    const now = performance.now();
    if (now - unread.summedAt > sumIsGoodForMs) {
      unread.sum = 0;
      for (const bytes of unread.watches) unread.sum += bytes();
      unread.summedAt = now;
    }
    return unread.sum > this.#mostUnreadBytes;
  }

  /** Returns a function that takes it out again. */
  add(end: () => void, of: Watched): () => void {
    this.#ofByEnd.set(end, of);
    return () => this.#ofByEnd.delete(end);
  }

  *counts(): Generator<Watched & { count: number }> {
    const counts = new Map<string, Watched & { count: number }>();
    for (const { group, version, plural, scope } of this.#ofByEnd.values()) {
      const key = `${group}/${version}/${plural}/${scope}`;
      const known = counts.get(key) ?? { group, version, plural, scope, count: 0 };
      known.count++;
      counts.set(key, known);
    }
    yield* counts.values();
  }

  endAll(): void {
    for (const end of this.#ofByEnd.keys()) end();
  }
}
