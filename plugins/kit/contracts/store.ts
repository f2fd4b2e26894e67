// The Store contract: a small, ordered, revisioned key-value store, the only thing the control plane keeps state in.
// Every change gets the next revision; revisions only rise and are never reused, also after a crash.
// A lost race is a result, not an exception. Values are opaque bytes.

import type { Call } from "../base/call.ts";
import type { Fault } from "../base/fault.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface StoreEntry {
  readonly key: string;
  /** Never changed by anyone after it was handed over: stores and callers share it. */
  readonly value: Uint8Array;
  /** The revision that created the key (since its last deletion) and the one that wrote this value. */
  readonly createRevision: number;
  readonly revision: number;
}

/** What the caller believes the key holds: a revision, nothing ("absent"), or whatever is there ("any"). */
export type Expectation = number | "absent" | "any";

/** `ok: false` carries what is there instead, read in the same instant. */
export type PutResult = { ok: true; entry: StoreEntry } | { ok: false; current: StoreEntry | undefined };
export type DeleteResult =
  | { ok: true; revision: number; previous: StoreEntry }
  | { ok: false; current: StoreEntry | undefined };

/** One key of a transaction: what it must hold, and what becomes of it. With neither value nor deletion it is only looked at. */
export interface TransactionStep {
  readonly key: string;
  readonly expect: Expectation;
  readonly put?: Uint8Array;
  readonly delete?: true;
}

/** `ok: false` carries what each step's key holds instead, in their order, read in the same instant. */
export type TransactionResult =
  | { ok: true; revision: number }
  | { ok: false; current: readonly (StoreEntry | undefined)[] };

export type StoreEvent =
  | {
      readonly type: "put";
      readonly revision: number;
      readonly entry: StoreEntry;
      readonly previous: StoreEntry | undefined;
    }
  | { readonly type: "delete"; readonly revision: number; readonly key: string; readonly previous: StoreEntry };

export interface ListOptions {
  /** At most so many entries; all when unset. */
  limit?: number;
  /** Only keys greater than this one (byte order). */
  after?: string;
  /** The state as it was at this revision; Fault `expired` when compacted away. The newest when unset. */
  atRevision?: number;
}

export interface ListResult {
  /** In byte order of their keys. */
  readonly entries: readonly StoreEntry[];
  /** The revision that this is a picture of. */
  readonly revision: number;
  /** How many entries follow beyond the limit. */
  readonly remaining: number;
}

export interface WriteOptions {
  /** Durable before it is answered, also below a lazy prefix. */
  readonly durable?: boolean;
}

export interface Store {
  /** The newest revision known to this process; 1 or more. */
  readonly revision: number;
  get(key: string, call: Call): Promise<StoreEntry | undefined>;
  list(prefix: string, options: ListOptions, call: Call): Promise<ListResult>;
  /** Resolves only when the write is durable (lazy prefixes excepted, unless the options ask for it). */
  put(key: string, value: Uint8Array, expect: Expectation, call: Call, options?: WriteOptions): Promise<PutResult>;
  /** Deleting what is not there is `ok: false` with `current: undefined`, whatever was expected. */
  delete(key: string, expect: Expectation, call: Call, options?: WriteOptions): Promise<DeleteResult>;
  /**
   * All steps as one change with one revision, or none of them where any key is not as expected; no key twice. A deletion of what
   * is not there is no failure. Stores that only this process writes to may leave it out.
   */
  transact?(steps: readonly TransactionStep[], call: Call): Promise<TransactionResult>;
  /**
   * Every change below the prefix with a revision greater than `since`, once, in order, in batches as they come;
   * ends when the call is stopped. Throws Fault `expired` when `since` was compacted away or the reader fell too far behind.
   */
  watch(prefix: string, since: number, call: Call): AsyncIterable<readonly StoreEvent[]>;
  /**
   * The changes that `watch` would begin with, where the store has them at hand: never waits. Throws like `watch`.
   * Stores that must ask somebody else leave it out.
   */
  recent?(prefix: string, since: number): readonly StoreEvent[];
  /**
   * A revision that is not older than any write answered before the call, whoever wrote it. Stores that only this process
   * writes to leave it out: what they were told, it has seen.
   */
  newest?(call: Call): Promise<number>;
  /** Resolves when the store answers, rejects with a Fault when it does not; writes nothing unless the last write failed. */
  check?(call: Call): Promise<void>;
  /** Resolves with the reason when the store has ended without being closed, for good; a store that cannot end leaves it out. */
  readonly ended?: Promise<Fault>;
  /** Forgets history before the revision; the newest value of each key stays. */
  compact(revision: number, call: Call): Promise<void>;
  /** Finishes pending writes, lazy ones included, and lets go of the file or connection. May be called twice. */
  close(): Promise<void>;
}

export const storeKind: Kind<Store> = kind("store");
