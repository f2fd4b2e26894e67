// The sqlite store: the newest state in memory, every change in a database that a worker thread commits in groups.
// This file is the contract's face; `sqlite/committer.ts` decides when what becomes durable and visible.

import type { Call } from "../kit/base/call.ts";
import { type Clock, systemClock } from "../kit/base/clock.ts";
import { Fault } from "../kit/base/fault.ts";
import { type Log, noLog } from "../kit/base/log.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import {
  type DeleteResult,
  type Expectation,
  type ListOptions,
  type ListResult,
  type PutResult,
  type Store,
  type StoreEntry,
  type StoreEvent,
  storeKind,
  type WriteOptions,
} from "../kit/contracts/store.ts";
import { defaultLimits, type HistoryLimits } from "./history.ts";
import { expired, Ledger } from "./ledger.ts";
import { historyKeys, historyOf, readCount, readSettings, readStrings } from "./settings.ts";
import { Committer } from "./sqlite/committer.ts";
import { KeptState } from "./sqlite/kept.ts";
import { LazyKeys } from "./sqlite/lazy-keys.ts";
import { DatabaseThread, type StartThread } from "./sqlite/thread.ts";

export interface SqliteStoreOptions {
  /** Owned by this store alone; made where it is not there. */
  folder: string;
  /** Keys below these are kept in memory and written now and then: a crash loses their newest values, never a revision. */
  lazyPrefixes?: readonly string[];
  /** How long a change below a lazy prefix may stay unwritten; six times as long where it only gives a written key another value. */
  flushMs?: number;
  history?: Partial<HistoryLimits>;
  clock?: Clock;
  log?: Log;
  /** How the worker thread is started, where a test wants a hold of it. */
  startThread?: StartThread;
}

export interface SqliteStore extends Store {
  /** Writes a consistent copy of the database to a path that must not exist yet. */
  backup(path: string): Promise<void>;
  check(call: Call): Promise<void>;
  readonly ended: Promise<Fault>;
}

const defaultFlushMs = 10 * 60_000;

/** Opens or creates the store in the folder; rejects with one Fault that says what is in the way. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { folder, lazyPrefixes = [], flushMs = defaultFlushMs, clock = systemClock, log = noLog } = options;
  const lazy = new LazyKeys(lazyPrefixes);
  const ledger = new Ledger(clock, { ...defaultLimits, ...options.history });
  const kept = new KeptState(ledger, lazy);
  const startedAt = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
  const thread = await DatabaseThread.open({ folder, startedAt }, kept, options.startThread);
  const committer = new Committer({ ledger, lazy, thread, clock, log, flushMs, kept });
  const lazyBefore = kept.marks.lazyPrefixes ?? [];
  await committer.begin(lazyPrefixes);
  return new OpenSqliteStore({ ledger, committer, thread, lazyPrefixes: [...lazyPrefixes, ...lazyBefore] });
}

class OpenSqliteStore implements SqliteStore {
  readonly #ledger: Ledger;
  readonly #committer: Committer;
  readonly #thread: DatabaseThread;
  /** History below these begins with this process, since only their newest values were written. */
  readonly #lazyPrefixes: readonly string[];
  readonly #startRevision: number;
  #closed: Promise<void> | undefined;

  constructor(parts: {
    ledger: Ledger;
    committer: Committer;
    thread: DatabaseThread;
    lazyPrefixes: readonly string[];
  }) {
    this.#ledger = parts.ledger;
    this.#committer = parts.committer;
    this.#thread = parts.thread;
    this.#lazyPrefixes = parts.lazyPrefixes;
    this.#startRevision = parts.ledger.revision;
  }

  get revision(): number {
    return this.#ledger.revision;
  }

  async get(key: string, call: Call): Promise<StoreEntry | undefined> {
    this.#check(call);
    return this.#ledger.get(key);
  }

  async list(prefix: string, options: ListOptions, call: Call): Promise<ListResult> {
    this.#check(call);
    const at = options.atRevision;
    if (at !== undefined && at >= 1) this.#checkLazy(prefix, at);
    return this.#ledger.list(prefix, options);
  }

  async put(
    key: string,
    value: Uint8Array,
    expect: Expectation,
    call: Call,
    options?: WriteOptions,
  ): Promise<PutResult> {
    this.#check(call);
    return (await this.#committer.write({ key, value, expect }, call, options)) as PutResult;
  }

  async delete(key: string, expect: Expectation, call: Call, options?: WriteOptions): Promise<DeleteResult> {
    this.#check(call);
    return (await this.#committer.write({ key, value: undefined, expect }, call, options)) as DeleteResult;
  }

  get ended(): Promise<Fault> {
    return this.#thread.ended;
  }

  async check(call: Call): Promise<void> {
    this.#check(call);
    await this.#committer.check();
  }

  async *watch(prefix: string, since: number, call: Call): AsyncGenerator<readonly StoreEvent[]> {
    this.#checkLazy(prefix, since);
    yield* this.#ledger.watch(prefix, since, call);
  }

  recent(prefix: string, since: number): readonly StoreEvent[] {
    this.#checkLazy(prefix, since);
    return this.#ledger.recent(prefix, since);
  }

  async compact(revision: number, call: Call): Promise<void> {
    this.#check(call);
    this.#ledger.compact(revision);
    await this.#committer.clean();
  }

  async backup(path: string): Promise<void> {
    await this.#committer.flush();
    await this.#thread.backup(path);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#committer.finish();
    this.#ledger.close();
    await this.#thread.close();
  }

  #check(call: Call): void {
    call.signal.throwIfAborted();
    if (this.#closed) throw new Fault("unavailable", "Cannot use the store: it is closed");
  }

  #checkLazy(prefix: string, revision: number): void {
    if (revision >= this.#startRevision) return;
    const touches = (lazy: string) => lazy.startsWith(prefix) || prefix.startsWith(lazy);
    if (this.#lazyPrefixes.some(touches)) throw expired(revision, this.#startRevision);
  }
}

export type SqliteSettings = Omit<SqliteStoreOptions, "folder" | "clock" | "log">;

/** Leases and events are worth no fsync: their writers write them anew. Keys are those of control/storage. */
const defaultLazyPrefixes = ["/registry/coordination.k8s.io/leases/", "/registry/core/events/"];

export const sqlite: Plugin<Store, SqliteSettings> = {
  kind: storeKind,
  name: "sqlite",
  keys: {
    lazyPrefixes:
      "keys below these are written now and then, not before they are acknowledged (default: leases, of which only renewals wait, and events)",
    flushSeconds:
      "how long such a key may stay unwritten, six times as long one that only has another value (default: 600)",
    historySeconds: "how long what was replaced or deleted can still be watched (default: 600)",
    historyCount: "and how many changes at most (default: 10000)",
    historyBytes: "and how many bytes that only history holds (default: 8 MiB)",
  },
  configure(raw) {
    const settings = readSettings(raw, ["lazyPrefixes", "flushSeconds", ...historyKeys]);
    const flushSeconds = readCount(settings, "flushSeconds");
    return {
      history: historyOf(settings),
      lazyPrefixes: readStrings(settings, "lazyPrefixes") ?? defaultLazyPrefixes,
      ...(flushSeconds === undefined ? {} : { flushMs: flushSeconds * 1000 }),
    };
  },
  async open(host) {
    const { settings, clock, log } = host;
    const store = await openSqliteStore({ ...settings, folder: host.stateDir, clock, log });
    host.onClose(() => store.close());
    return store;
  },
};
