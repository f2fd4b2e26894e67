// What changed, in order of revision, back to the last compaction; bounded by age, count and bytes.
// Invariant: every event with a revision above `compacted` is here, with what stood there before it.

import type { Clock } from "../kit/base/clock.ts";
import type { StoreEvent } from "../kit/contracts/store.ts";

export interface HistoryLimits {
  ageMs: number;
  count: number;
  /** Of values that only history still holds. */
  bytes: number;
}

export const defaultLimits: HistoryLimits = { ageMs: 10 * 60_000, count: 10_000, bytes: 8 * 1024 * 1024 };

const marksPerAge = 10;

export class History {
  readonly #clock: Clock;
  readonly #limits: HistoryLimits;
  #events: StoreEvent[] = [];
  /** Events before this index are forgotten; cut off in bulk, since shifting an array costs its length. */
  #head = 0;
  #bytes = 0;
  #compacted = 0;
  /** Moments and the newest revision then, so that age needs no time stamp per event. */
  #marks: { at: number; revision: number }[] = [];

  constructor(clock: Clock, limits: HistoryLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get compacted(): number {
    return this.#compacted;
  }

  add(event: StoreEvent): void {
    this.#events.push(event);
    this.#bytes += heldOnlyBy(event);
  }

  /** The events after the revision, oldest first. */
  after(revision: number): readonly StoreEvent[] {
    return this.#events.slice(this.#indexAfter(revision));
  }

  /** Forgets up to and including the revision, and returns what was forgotten. */
  compact(revision: number): readonly StoreEvent[] {
    if (revision <= this.#compacted) return [];
    this.#compacted = revision;
    const until = this.#indexAfter(revision);
    const forgotten = this.#events.slice(this.#head, until);
    for (const event of forgotten) this.#bytes -= heldOnlyBy(event);
    this.#head = until;
    if (this.#head > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
    return forgotten;
  }

  /** The revision that the limits would have compacted now, given the newest one. */
  due(newest: number): number {
    const now = this.#clock.monotonic();
    const last = this.#marks.at(-1);
    if (!last || now - last.at >= this.#limits.ageMs / marksPerAge) this.#marks.push({ at: now, revision: newest });
    let due = this.#compacted;
    while (this.#marks[0] && now - this.#marks[0].at > this.#limits.ageMs) {
      due = Math.max(due, this.#marks.shift()?.revision ?? 0);
    }
    let index = Math.max(this.#head, this.#events.length - this.#limits.count);
    let bytes = this.#bytes;
    for (let at = this.#head; at < this.#events.length; at++) {
      if (at >= index && bytes <= this.#limits.bytes) break;
      bytes -= heldOnlyBy(this.#events[at] as StoreEvent);
      index = Math.max(index, at + 1);
    }
    return Math.max(due, index > this.#head ? (this.#events[index - 1]?.revision ?? 0) : 0);
  }

  #indexAfter(revision: number): number {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as StoreEvent).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function heldOnlyBy(event: StoreEvent): number {
  return event.previous?.value.byteLength ?? 0;
}
