// A Store against a plain model of it: random writes, lost races, old lists and watches, compactions and restarts.

import fc from "fast-check";
import type { Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Expectation, Store, StoreEntry, StoreEvent } from "../../plugins/kit/contracts/store.ts";

export interface ModelledStore {
  readonly store: Store;
  /** Closes it and opens it again; absent where nothing outlives the process. */
  reopen?: () => Promise<{ store: Store; historySince: number }>;
  end(): Promise<void>;
}

const keys = ["/k/a", "/k/b", "/k/b/c", "/lazy/d", "/k/\u{1F6F6}"] as const;
const prefixes = ["/k/", "/k/", "/k/b", "/lazy/", ""] as const;

/** Where a random number becomes a revision: a fraction of those that were given out. */
const fraction = fc.integer({ min: 0, max: 100 });
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant("put" as const), key: fc.constantFrom(...keys), value: fc.string() }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), key: fc.constantFrom(...keys) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("guarded" as const),
      key: fc.constantFrom(...keys),
      value: fc.option(fc.string(), { nil: undefined }),
      expect: fc.constantFrom("right", "wrong", "absent"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("race" as const),
      key: fc.constantFrom(...keys),
      racers: fc.integer({ min: 2, max: 8 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("watch" as const), prefix: fc.constantFrom(...prefixes), since: fraction }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("list" as const),
      prefix: fc.constantFrom(...prefixes),
      at: fc.option(fraction),
      limit: fc.option(fc.integer({ min: 1, max: 4 })),
      after: fc.option(fc.constantFrom(...keys)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), at: fraction }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("reopen" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Runs so many random histories against fresh stores. */
export async function storeModel(t: Test, open: () => Promise<ModelledStore>, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
    const opened = await open();
    const model = new Model(opened);
    try {
      for (const one of steps) await model.take(one);
      await model.finish();
    } finally {
      await model.end();
    }
  });
  const outcome = await fc.check(property, { numRuns, timeout: 20_000 });
  t.ok(!outcome.failed, (outcome.failed && fc.defaultReportMessage(outcome)) || `${outcome.numRuns} histories`);
}

class Model {
  readonly #opened: ModelledStore;
  #store: Store;
  readonly #events: StoreEvent[] = [];
  readonly #entries = new Map<string, StoreEntry>();
  readonly #start: number;
  /** History below the lazy prefix is known from here on. */
  #lazySince = 0;
  #compacted = 0;
  #watcher: Watcher;

  constructor(opened: ModelledStore) {
    this.#opened = opened;
    this.#store = opened.store;
    this.#start = opened.store.revision;
    this.#watcher = new Watcher(this.#store, this.#start);
  }

  async take(one: Step): Promise<void> {
    switch (one.do) {
      case "put":
        return this.#write(one.key, one.value, "any");
      case "delete":
        return this.#write(one.key, undefined, "any");
      case "guarded":
        return this.#write(one.key, one.value, this.#expectation(one.key, one.expect));
      case "race":
        return this.#race(one.key, one.racers);
      case "watch":
        return this.#watch(one.prefix, this.#revision(one.since));
      case "list":
        return this.#list(one);
      case "compact":
        return this.#compact(this.#revision(one.at));
      case "reopen":
        return this.#reopen();
    }
  }

  async finish(): Promise<void> {
    await this.#watcher.expect(this.#events.filter((event) => event.revision > this.#watcher.since));
    await this.#list({ prefix: "", at: null, limit: null, after: null });
  }

  async end(): Promise<void> {
    this.#watcher.stop();
    await this.#opened.end();
  }

  #revision(part: number): number {
    return this.#start + Math.floor(((this.#store.revision - this.#start) * part) / 100);
  }

  #expectation(key: string, which: string): Expectation {
    const current = this.#entries.get(key)?.revision;
    if (which === "absent") return "absent";
    return which === "right" ? (current ?? "absent") : (current ?? this.#start) + 7_000_000;
  }

  async #write(key: string, value: string | undefined, expect: Expectation): Promise<void> {
    const current = this.#entries.get(key);
    const isExpected = expect === "any" || (expect === "absent" ? !current : current?.revision === expect);
    if (value === undefined) {
      const result = await this.#store.delete(key, expect, call);
      same(result.ok, isExpected && current !== undefined, "delete().ok");
      if (!result.ok) return same(plain(result.current), plain(current), "delete().current");
      same(plain(result.previous), plain(current), "delete().previous");
      return this.#note({ type: "delete", key, revision: result.revision, previous: result.previous });
    }
    const result = await this.#store.put(key, new TextEncoder().encode(value), expect, call);
    same(result.ok, isExpected, "put().ok");
    if (!result.ok) return same(plain(result.current), plain(current), "put().current");
    same(result.entry.createRevision, current?.createRevision ?? result.entry.revision, "createRevision");
    this.#note({ type: "put", revision: result.entry.revision, entry: result.entry, previous: current });
  }

  /** Writers who all believe in the same revision: one wins, the others are told who. */
  async #race(key: string, racers: number): Promise<void> {
    const current = this.#entries.get(key);
    const writes = Array.from({ length: racers }, (_, i) =>
      this.#store.put(key, Uint8Array.of(i), current?.revision ?? "absent", call),
    );
    const results = await Promise.all(writes);
    const winners = results.filter((result) => result.ok);
    same(winners.length, 1, "winners");
    const entry = winners[0]?.ok ? winners[0].entry : undefined;
    for (const result of results) if (!result.ok) same(plain(result.current), plain(entry), "what a loser is told");
    if (entry) this.#note({ type: "put", revision: entry.revision, entry, previous: current });
  }

  #note(event: StoreEvent): void {
    same(event.revision > (this.#events.at(-1)?.revision ?? this.#start), true, "revisions rise");
    this.#events.push(event);
    if (event.type === "put") this.#entries.set(event.entry.key, event.entry);
    else this.#entries.delete(event.key);
  }

  #isKnown(prefix: string, revision: number): boolean {
    if (revision < this.#compacted) return false;
    return revision >= this.#lazySince || !("/lazy/".startsWith(prefix) || prefix.startsWith("/lazy/"));
  }

  async #watch(prefix: string, since: number): Promise<void> {
    const watcher = new Watcher(this.#store, since, prefix);
    try {
      if (!this.#isKnown(prefix, since)) return await watcher.expectExpired();
      await watcher.expect(this.#events.filter((event) => event.revision > since && keyOf(event).startsWith(prefix)));
    } finally {
      watcher.stop();
    }
  }

  async #list(one: { prefix: string; at: number | null; limit: number | null; after: string | null }): Promise<void> {
    const at = one.at === null ? undefined : this.#revision(one.at);
    const options = {
      ...(at === undefined ? {} : { atRevision: at }),
      ...(one.limit === null ? {} : { limit: one.limit }),
      ...(one.after === null ? {} : { after: one.after }),
    };
    if (at !== undefined && !this.#isKnown(one.prefix, at)) {
      const error = await this.#store.list(one.prefix, options, call).catch((reason: unknown) => reason);
      return same(isFault(error, "expired"), true, "list() of a forgotten revision is expired");
    }
    const then = new Map<string, StoreEntry>();
    for (const event of this.#events) {
      if (at !== undefined && event.revision > at) break;
      if (event.type === "put") then.set(event.entry.key, event.entry);
      else then.delete(event.key);
    }
    const all = [...then.values()]
      .filter(({ key }) => key.startsWith(one.prefix) && (one.after === null || bytesOrder(key, one.after) > 0))
      .sort((a, b) => bytesOrder(a.key, b.key));
    const expected = all.slice(0, one.limit ?? all.length);
    const { entries, remaining } = await this.#store.list(one.prefix, options, call);
    same(entries.map(plain), expected.map(plain), "list().entries");
    same(remaining, all.length - expected.length, "list().remaining");
  }

  async #compact(revision: number): Promise<void> {
    // A reader that lags when its past is forgotten would rightly be told so.
    await this.#watcher.expect(this.#events.filter((event) => event.revision > this.#watcher.since));
    await this.#store.compact(revision, call);
    this.#compacted = Math.max(this.#compacted, revision);
  }

  async #reopen(): Promise<void> {
    if (!this.#opened.reopen) return;
    await this.#watcher.expect(this.#events.filter((event) => event.revision > this.#watcher.since));
    this.#watcher.stop();
    const { store, historySince } = await this.#opened.reopen();
    this.#store = store;
    this.#lazySince = Math.max(this.#lazySince, historySince);
    this.#watcher = new Watcher(store, store.revision);
  }
}

/** Reads a watch in the background and compares it with what should have come. */
class Watcher {
  readonly since: number;
  readonly #got: StoreEvent[] = [];
  readonly #stop = new AbortController();
  #failed: unknown;
  #changed: () => void = () => {};

  constructor(store: Store, since: number, prefix = "") {
    this.since = since;
    void this.#read(store, prefix);
  }

  async #read(store: Store, prefix: string): Promise<void> {
    try {
      for await (const events of store.watch(prefix, this.since, { signal: this.#stop.signal })) {
        this.#got.push(...events);
        this.#changed();
      }
    } catch (error) {
      this.#failed = error;
      this.#changed();
    }
  }

  async expect(events: readonly StoreEvent[]): Promise<void> {
    while (this.#got.length < events.length && !this.#failed) await this.#change();
    if (this.#failed) throw this.#failed;
    same(this.#got.map(plainEvent), events.map(plainEvent), "watched events");
  }

  async expectExpired(): Promise<void> {
    while (!this.#failed) await this.#change();
    same(isFault(this.#failed, "expired"), true, `expired, was ${String(this.#failed)}`);
  }

  stop(): void {
    this.#stop.abort();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }
}

function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}

function bytesOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function plain(entry: StoreEntry | undefined) {
  return entry && { ...entry, value: Buffer.from(entry.value).toString("hex") };
}

function plainEvent(event: StoreEvent) {
  const now = event.type === "put" ? plain(event.entry) : event.key;
  return { type: event.type, revision: event.revision, now, previous: plain(event.previous) };
}

function same(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${what}: ${left} is not ${right}`);
}
