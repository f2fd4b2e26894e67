// Fills a ledger from the rows and marks that a database kept, and tells which rows it no longer needs.

import type { StoreEvent } from "../../kit/contracts/store.ts";
import type { Ledger } from "../ledger.ts";
import type { LazyKeys } from "./lazy-keys.ts";
import type { Marks, Row } from "./protocol.ts";
import type { Reader } from "./thread.ts";

export class KeptState implements Reader {
  readonly #ledger: Ledger;
  readonly #lazy: LazyKeys;
  #marks: Marks = {};
  /** Revisions whose rows an earlier compaction or a changed setting has made needless. */
  readonly garbage: number[] = [];

  constructor(ledger: Ledger, lazy: LazyKeys) {
    this.#ledger = ledger;
    this.#lazy = lazy;
  }

  get marks(): Marks {
    return this.#marks;
  }

  onMarks(marks: Marks): void {
    this.#marks = marks;
    const compacted = marks.compacted ?? 0;
    this.#ledger.raise(Math.max(compacted, marks.reserved ?? 0));
    if (compacted > 0) this.#ledger.compact(compacted);
  }

  onRow(row: Row): void {
    const { key, revision, createRevision, value } = row;
    const previous = this.#ledger.get(key);
    const isLazy = this.#lazy.includes(key);
    const isHistory = !isLazy && !row.isLazy && revision > this.#ledger.compacted;
    if (value) {
      const entry = { key, value, createRevision, revision };
      this.#restore({ type: "put", revision, entry, previous }, isHistory);
    } else if (previous) {
      this.#restore({ type: "delete", revision, key, previous }, isHistory);
    }
    if (previous && !isHistory) this.garbage.push(previous.revision);
    if (!value && !isHistory) this.garbage.push(revision);
    if (isLazy && value) this.#lazy.found(key, revision);
  }

  #restore(event: StoreEvent, isHistory: boolean): void {
    this.#ledger.restore(event, isHistory);
  }
}
