// Decides when a write becomes durable and visible: group commit for most, the next flush for lazy prefixes.
// Invariants: one commit is under way at a time; what it holds is applied and acknowledged only after it; writes are
// decided in the order they came; a lazy write waits for no disk, unless its caller asked for that, and uses only revisions that are
// durably reserved.

import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import { type Fault, toFault } from "../../kit/base/fault.ts";
import type { Log } from "../../kit/base/log.ts";
import type { DeleteResult, PutResult, StoreEntry, StoreEvent, WriteOptions } from "../../kit/contracts/store.ts";
import { keyOf, type Ledger, type Write } from "../ledger.ts";
import type { KeptState } from "./kept.ts";
import type { Flush, LazyKeys } from "./lazy-keys.ts";
import { type Marks, packRows, type Row } from "./protocol.ts";
import type { DatabaseThread } from "./thread.ts";

type Result = PutResult | DeleteResult;

interface Pending {
  readonly write: Write;
  readonly call: Call;
  readonly isDurable: boolean;
  /** Durable although its prefix is lazy. */
  readonly isUrgent: boolean;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** What a commit must do beside the writes that wait. */
interface Chore {
  readonly isFlush: boolean;
  resolve(): void;
  reject(reason: unknown): void;
}

export interface CommitterParts {
  readonly ledger: Ledger;
  readonly lazy: LazyKeys;
  readonly thread: DatabaseThread;
  readonly clock: Clock;
  readonly log: Log;
  readonly flushMs: number;
  readonly kept: KeptState;
}

const mostWritesAtOnce = 1024;
/** Of rows that history no longer needs, so that a write never waits for much of that. */
const mostRemovedAtOnce = 1024;
/** Fewer wait for more, or for the next flush: each removal changes pages that the write itself would have left alone. */
const fewestRemovedAtOnce = 64;
/** Revisions reserved at a time: a lazy write costs one fsync in so many, a crash skips at most so many. */
const reserveBlock = 10_000;
/** So many times later than other lazy changes are those written that only give a written key another value, such as a renewed lease. */
const renewalFactor = 6;

export class Committer {
  readonly #parts: CommitterParts;
  #queue: Pending[] = [];
  #chores: Chore[] = [];
  #running: Promise<void> | undefined;
  #garbage: number[];
  #compacted: number;
  #reserved: number;
  #nextFlush: { readonly at: number; readonly cancel: () => void } | undefined;
  #isFailing = false;

  constructor(parts: CommitterParts) {
    this.#parts = parts;
    this.#garbage = parts.kept.garbage;
    this.#compacted = parts.ledger.compacted;
    this.#reserved = parts.kept.marks.reserved ?? 0;
    parts.ledger.onForgotten((events) => this.#forgot(events));
  }

  /** Notes which prefixes are lazy from now on, where that has changed. */
  async begin(lazyPrefixes: readonly string[]): Promise<void> {
    const before = this.#parts.kept.marks.lazyPrefixes ?? [];
    if (before.length === lazyPrefixes.length && before.every((prefix, index) => prefix === lazyPrefixes[index]))
      return;
    await this.#parts.thread.commit({ rows: packRows([]), removed: [], marks: { lazyPrefixes } });
  }

  write(write: Write, call: Call, options?: WriteOptions): Promise<Result> {
    const isLazy = this.#parts.lazy.includes(write.key);
    const isUrgent = isLazy && options?.durable === true;
    const isDurable = isUrgent || !isLazy;
    return new Promise((resolve, reject) => {
      this.#queue.push({ write, call, isDurable, isUrgent, resolve, reject });
      this.#start();
    });
  }

  /** Resolves when what compaction forgot is gone from the database too. */
  clean(): Promise<void> {
    return this.#chore(false);
  }

  /** Resolves when the database can be read; after a write that failed, only when one succeeds. */
  check(): Promise<void> {
    return this.#isFailing ? this.clean() : this.#parts.thread.check();
  }

  /** Resolves when every lazy change made so far is durable. */
  flush(): Promise<void> {
    return this.#chore(true);
  }

  #forgot(events: readonly StoreEvent[]): void {
    for (const event of events) {
      if (this.#parts.lazy.includes(keyOf(event))) continue;
      if (event.previous) this.#garbage.push(event.previous.revision);
      if (event.type === "delete") this.#garbage.push(event.revision);
    }
  }

  /** Writes what is pending, lazy changes and the exact revision; nothing may be asked afterwards. */
  async finish(): Promise<void> {
    while (this.#running) await this.#running;
    this.#nextFlush?.cancel();
    const { lazy, ledger, thread, log } = this.#parts;
    const isReserved = this.#reserved > ledger.planned;
    if (!lazy.hasChanged && !isReserved && this.#garbage.length === 0) return;
    const flush = lazy.begin((key) => ledger.get(key), lazy.changed);
    const marks = { ...(isReserved ? { reserved: ledger.planned } : {}), compacted: ledger.compacted };
    try {
      await thread.commit({ rows: packRows(flush.rows), removed: [...flush.removed, ...this.#garbage], marks });
    } catch (error) {
      log.error({ err: error }, "lazy changes since the last flush are lost, nothing that was acknowledged as durable");
    }
  }

  #chore(isFlush: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#chores.push({ isFlush, resolve, reject });
      this.#start();
    });
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Each commit begins in a turn of its own, so that writes made together are committed together: writers that the last one
    // woke come one by one, and the first of them must not be off alone.
    await nextTurn();
    while (this.#queue.length > 0 || this.#chores.length > 0) {
      const taken = this.#queue.splice(0, mostWritesAtOnce);
      const chores = this.#chores.splice(0);
      const batch = taken.filter((pending) => {
        if (pending.call.signal.aborted) pending.reject(pending.call.signal.reason);
        return !pending.call.signal.aborted;
      });
      try {
        await this.#commit(batch, chores);
        for (const chore of chores) chore.resolve();
      } catch (error) {
        const fault = toFault(error, "Cannot write to the store", "unavailable");
        this.#failed(fault);
        for (const chore of chores) chore.reject(fault);
        this.#saveLazy(batch, fault);
        if (this.#parts.lazy.hasChanged) this.#flushLater();
      }
      await nextTurn();
    }
    // In the same moment as the last look at the queue, so that a write after it starts anew.
    this.#running = undefined;
  }

  async #commit(batch: readonly Pending[], chores: readonly Chore[]): Promise<void> {
    const { ledger, lazy } = this.#parts;
    const plannedBefore = ledger.planned;
    const { results, events } = ledger.plan(batch.map((pending) => pending.write));
    const rows = events.filter((event) => !lazy.includes(keyOf(event))).map(rowOf);
    const isBeyondReserve = rows.length < events.length && ledger.planned > this.#reserved;
    const urgent = urgentChanges(batch, events);
    if (rows.length > 0 || urgent.size > 0 || isBeyondReserve || chores.length > 0) {
      const isFlush = chores.some((chore) => chore.isFlush);
      const keys = isFlush ? new Set([...lazy.changed, ...urgent.keys()]) : urgent.keys();
      const flush = lazy.begin((key) => (urgent.has(key) ? urgent.get(key) : ledger.get(key)), keys);
      try {
        await this.#store(rows, flush, chores.length > 0 ? Number.POSITIVE_INFINITY : this.#worthRemoving());
      } catch (error) {
        lazy.doubt(flush);
        ledger.unplan(plannedBefore);
        throw error;
      }
    }
    this.#show(batch, results, events);
  }

  #worthRemoving(): number {
    return this.#garbage.length < fewestRemovedAtOnce ? 0 : mostRemovedAtOnce;
  }

  /** One commit, with whatever else is worth taking along. */
  async #store(rows: readonly Row[], flush: Flush, mostRemoved: number): Promise<void> {
    const { ledger, lazy, thread, log } = this.#parts;
    const garbage = this.#garbage.slice(0, mostRemoved);
    const marks: Marks = {};
    // While nothing is removed, the database still holds the history from the old mark on. After a failure something is written in
    // any case: only that shows whether the disk takes writes again.
    if (mostRemoved > 0 && (ledger.compacted > this.#compacted || this.#isFailing)) marks.compacted = ledger.compacted;
    if (lazy.isUsed && this.#reserved - ledger.planned < reserveBlock / 2)
      marks.reserved = ledger.planned + reserveBlock;
    const removed = [...garbage, ...flush.removed];
    await thread.commit({ rows: packRows([...rows, ...flush.rows]), removed, marks });
    this.#garbage = this.#garbage.slice(garbage.length);
    this.#compacted = marks.compacted ?? this.#compacted;
    this.#reserved = marks.reserved ?? this.#reserved;
    lazy.end(flush);
    if (this.#isFailing) log.info({}, "the store can be written again");
    this.#isFailing = false;
  }

  #show(batch: readonly Pending[], results: readonly Result[], events: readonly StoreEvent[]): void {
    const { ledger, lazy } = this.#parts;
    if (events.length > 0) ledger.apply(events);
    for (const event of events) {
      if (lazy.includes(keyOf(event))) lazy.change(keyOf(event), event.type === "put" ? event.revision : undefined);
    }
    if (lazy.hasChanged) this.#flushLater();
    for (const [index, pending] of batch.entries()) pending.resolve(results[index] as Result);
  }

  /** After a failed commit: the lazy writes of the batch need no disk and go on; the others are refused. */
  #saveLazy(batch: readonly Pending[], fault: Fault): void {
    const { ledger } = this.#parts;
    const [kept, refused] = [true, false].map((isLazy) => batch.filter((pending) => pending.isDurable !== isLazy)) as [
      Pending[],
      Pending[],
    ];
    for (const pending of refused) pending.reject(fault);
    const plannedBefore = ledger.planned;
    const { results, events } = ledger.plan(kept.map((pending) => pending.write));
    if (ledger.planned <= this.#reserved) return this.#show(kept, results, events);
    ledger.unplan(plannedBefore);
    for (const pending of kept) pending.reject(fault);
  }

  #failed(fault: Fault): void {
    if (!this.#isFailing) this.#parts.log.error({ err: fault }, "the store cannot be written");
    this.#isFailing = true;
  }

  #flushLater(): void {
    const { lazy, clock, flushMs } = this.#parts;
    const delayMs = lazy.hasNews ? flushMs : flushMs * renewalFactor;
    const at = clock.monotonic() + delayMs;
    if (this.#nextFlush && this.#nextFlush.at <= at) return;
    this.#nextFlush?.cancel();
    const cancel = clock.after(delayMs, () => {
      this.#nextFlush = undefined;
      this.flush().catch(() => this.#flushLater());
    });
    this.#nextFlush = { at, cancel };
  }
}

/** What the events make of lazy keys whose writers wait for the disk; undefined where one goes. */
function urgentChanges(batch: readonly Pending[], events: readonly StoreEvent[]): Map<string, StoreEntry | undefined> {
  const changes = new Map<string, StoreEntry | undefined>();
  const asked = new Set(batch.filter(({ isUrgent }) => isUrgent).map(({ write }) => write.key));
  if (asked.size === 0) return changes;
  for (const event of events) {
    if (asked.has(keyOf(event))) changes.set(keyOf(event), event.type === "put" ? event.entry : undefined);
  }
  return changes;
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function rowOf(event: StoreEvent): Row {
  if (event.type === "put") return { ...event.entry, isLazy: false };
  const { key, revision, previous } = event;
  return { key, revision, createRevision: previous.createRevision, value: undefined, isLazy: false };
}
