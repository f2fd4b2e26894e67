// The state that memory and sqlite share: entries, history and watchers, and how a run of writes is decided.
// A write is first decided (`plan`), then made visible (`apply`); between the two a store may make it durable.
// Invariant: events are applied in rising order of revision; a revision that anyone may have seen is never given again.

import type { Call } from "../kit/base/call.ts";
import type { Clock } from "../kit/base/clock.ts";
import { Fault } from "../kit/base/fault.ts";
import type {
  DeleteResult,
  Expectation,
  ListOptions,
  ListResult,
  PutResult,
  StoreEntry,
  StoreEvent,
} from "../kit/contracts/store.ts";
import { Entries } from "./entries.ts";
import { History, type HistoryLimits } from "./history.ts";

/** A put, or a delete where there is no value. */
export interface Write {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  readonly expect: Expectation;
}

export interface Plan {
  /** One for each write, in order. */
  readonly results: readonly (PutResult | DeleteResult)[];
  /** What the writes that won will change. */
  readonly events: readonly StoreEvent[];
}

export class Ledger {
  readonly #entries = new Entries();
  readonly #history: History;
  readonly #waiting = new Set<() => void>();
  #revision = 1;
  #planned = 1;
  #isClosed = false;
  #onForgotten: ((events: readonly StoreEvent[]) => void) | undefined;

  constructor(clock: Clock, limits: HistoryLimits) {
    this.#history = new History(clock, limits);
  }

  /** From now on tells every event that compaction forgets. */
  onForgotten(handler: (events: readonly StoreEvent[]) => void): void {
    this.#onForgotten = handler;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The highest revision given out, applied or not. */
  get planned(): number {
    return this.#planned;
  }

  get compacted(): number {
    return this.#history.compacted;
  }

  get(key: string): StoreEntry | undefined {
    return this.#entries.get(key);
  }

  list(prefix: string, options: ListOptions): ListResult {
    const at = options.atRevision;
    if (at === undefined) return { ...this.#entries.page(prefix, options), revision: this.#revision };
    checkRevision(at, this.#revision);
    if (at < this.compacted) throw expired(at, this.compacted);
    const later = this.#history.after(at).filter((event) => keyOf(event).startsWith(prefix));
    if (later.length === 0) return { ...this.#entries.page(prefix, options), revision: at };
    const past = new Entries();
    for (const entry of this.#entries.page(prefix, {}).entries) past.set(entry);
    for (const event of later.reverse()) {
      if (event.previous) past.set(event.previous);
      else past.delete(keyOf(event));
    }
    return { ...past.page(prefix, options), revision: at };
  }

  plan(writes: readonly Write[]): Plan {
    const results: (PutResult | DeleteResult)[] = [];
    const events: StoreEvent[] = [];
    const ahead = new Map<string, StoreEntry | undefined>();
    for (const write of writes) {
      const current = ahead.has(write.key) ? ahead.get(write.key) : this.#entries.get(write.key);
      if (!isExpected(write, current)) {
        results.push({ ok: false, current });
        continue;
      }
      const { result, event } = carryOut(write, current, ++this.#planned);
      ahead.set(write.key, event.type === "put" ? event.entry : undefined);
      results.push(result);
      events.push(event);
    }
    return { results, events };
  }

  apply(events: readonly StoreEvent[]): void {
    const before = this.#revision;
    for (const event of events) {
      if (event.type === "put") this.#entries.set(event.entry);
      else this.#entries.delete(event.key);
      this.#history.add(event);
      this.#revision = event.revision;
    }
    // What came just now is kept whatever the limits say, so that a reader who had seen all there was misses nothing.
    this.#forget(Math.min(before, this.#history.due(before)));
    this.#wake();
  }

  /** Takes back plans that were not applied and left no trace, down to the revision. */
  unplan(revision: number): void {
    this.#planned = Math.max(this.#revision, revision);
  }

  /** Fills the ledger with what was kept, oldest first, before anyone else may see it. */
  restore(event: StoreEvent, isHistory: boolean): void {
    if (event.type === "put") this.#entries.set(event.entry);
    else this.#entries.delete(event.key);
    if (isHistory) this.#history.add(event);
    this.raise(event.revision);
  }

  /** Continues above the revision. */
  raise(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    this.#planned = Math.max(this.#planned, revision);
  }

  recent(prefix: string, since: number): readonly StoreEvent[] {
    if (since < this.compacted) throw expired(since, this.compacted);
    return this.#history.after(since).filter((event) => keyOf(event).startsWith(prefix));
  }

  async *watch(prefix: string, since: number, call: Call): AsyncGenerator<readonly StoreEvent[]> {
    let seen = since;
    while (!call.signal.aborted) {
      if (this.#isClosed) throw new Fault("unavailable", `Cannot watch "${prefix}": the store is closed`);
      const found = this.recent(prefix, seen);
      seen = Math.max(seen, this.#revision);
      if (found.length > 0) yield found;
      else await this.#change(call);
    }
  }

  compact(revision: number): void {
    checkRevision(revision, this.#revision);
    this.#forget(revision);
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #forget(revision: number): void {
    const forgotten = this.#history.compact(revision);
    if (forgotten.length > 0) this.#onForgotten?.(forgotten);
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Resolves at the next change, close or stop. */
  #change(call: Call): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        call.signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
      call.signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

export function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}

/** Refuses a revision that no state can be asked for. */
function checkRevision(revision: number, newest: number): void {
  if (Number.isSafeInteger(revision) && revision >= 1 && revision <= newest) return;
  throw new Fault("invalid", `Cannot use revision ${revision}: the store has revisions 1 to ${newest}`);
}

export function expired(revision: number, compacted: number): Fault {
  return new Fault("expired", `Cannot go back to revision ${revision}: history before ${compacted} was compacted`);
}

function isExpected(write: Write, current: StoreEntry | undefined): boolean {
  if (write.value === undefined && !current) return false;
  if (write.expect === "any") return true;
  return write.expect === "absent" ? !current : current?.revision === write.expect;
}

function carryOut(write: Write, current: StoreEntry | undefined, revision: number) {
  const { key, value } = write;
  if (value === undefined) {
    const previous = current as StoreEntry;
    const result: DeleteResult = { ok: true, revision, previous };
    const event: StoreEvent = { type: "delete", revision, key, previous };
    return { result, event };
  }
  const entry: StoreEntry = { key, value, createRevision: current?.createRevision ?? revision, revision };
  const result: PutResult = { ok: true, entry };
  const event: StoreEvent = { type: "put", revision, entry, previous: current };
  return { result, event };
}
