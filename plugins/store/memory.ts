// The memory store: everything in this process, gone with it. For tests, trials and simulations.

import type { Call } from "../kit/base/call.ts";
import { type Clock, systemClock } from "../kit/base/clock.ts";
import { Fault } from "../kit/base/fault.ts";
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
} from "../kit/contracts/store.ts";
import { defaultLimits, type HistoryLimits } from "./history.ts";
import { Ledger, type Write } from "./ledger.ts";
import { readHistorySettings } from "./settings.ts";

export interface MemoryStoreOptions {
  clock?: Clock;
  /** When history is compacted by itself; what is left out keeps its default. */
  history?: Partial<HistoryLimits>;
}

/** An empty store. Does not block, and holds nothing but memory. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #ledger: Ledger;
  #isClosed = false;

  constructor({ clock = systemClock, history = {} }: MemoryStoreOptions) {
    this.#ledger = new Ledger(clock, { ...defaultLimits, ...history });
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
    return this.#ledger.list(prefix, options);
  }

  async put(key: string, value: Uint8Array, expect: Expectation, call: Call): Promise<PutResult> {
    return this.#write({ key, value, expect }, call) as PutResult;
  }

  async delete(key: string, expect: Expectation, call: Call): Promise<DeleteResult> {
    return this.#write({ key, value: undefined, expect }, call) as DeleteResult;
  }

  watch(prefix: string, since: number, call: Call): AsyncIterable<readonly StoreEvent[]> {
    return this.#ledger.watch(prefix, since, call);
  }

  recent(prefix: string, since: number): readonly StoreEvent[] {
    return this.#ledger.recent(prefix, since);
  }

  async compact(revision: number, call: Call): Promise<void> {
    this.#check(call);
    this.#ledger.compact(revision);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ledger.close();
  }

  #write(write: Write, call: Call): PutResult | DeleteResult {
    this.#check(call);
    const { results, events } = this.#ledger.plan([write]);
    if (events.length > 0) this.#ledger.apply(events);
    return results[0] as PutResult | DeleteResult;
  }

  #check(call: Call): void {
    call.signal.throwIfAborted();
    if (this.#isClosed) throw new Fault("unavailable", "Cannot use the store: it is closed");
  }
}

export const memory: Plugin<Store, MemoryStoreOptions> = {
  kind: storeKind,
  name: "memory",
  configure: (raw) => ({ history: readHistorySettings(raw) }),
  open(host) {
    const store = memoryStore({ ...host.settings, clock: host.clock });
    host.onClose(() => store.close());
    return store;
  },
};
