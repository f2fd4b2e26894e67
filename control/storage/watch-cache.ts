// WatchCache mirrors the store in memory by one watch, split by resource. Everything the API reads comes from here.
// Invariant: `revision` is the newest change applied; a reader who waits for `reached(r)` sees every write up to r.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Store, StoreEntry, StoreEvent } from "../../plugins/kit/contracts/store.ts";
import { CatchUp } from "./catch-up.ts";
import { asBuffer } from "./encoding.ts";
import { Entry } from "./entry.ts";
import { registryRoot, type StorageRef, splitKey, storageId } from "./keys.ts";
import { type CacheEvent, ResourceCache } from "./resource-cache.ts";
import { RevisionAges } from "./revision-ages.ts";
import type { Transformer } from "./transformer.ts";

const loadPageSize = 500;
/** As long as the stores keep theirs. Without a limit in time a resource that changes rarely fills its history over weeks. */
const historyMs = 10 * 60_000;

interface Waiter {
  revision: number;
  resolve: () => void;
}

export interface WatchCacheOptions {
  store: Store;
  clock: Clock;
  log: Log;
  transformers: readonly Transformer[];
}

export class WatchCache {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #transformers: readonly Transformer[];
  readonly #caches = new Map<string, ResourceCache>();
  readonly #waiters = new Set<Waiter>();
  readonly #catchUp: CatchUp;
  readonly #ages: RevisionAges;
  /** Decoded forms of our own writes that are on their way back to us, so that they need not be parsed again. */
  readonly #written = new Map<string, { value: Uint8Array; plain: Buffer; object: KubeObject }>();
  #revision = 0;
  /** Resources met for the first time had no changes since then. */
  #loadedAt = 0;

  constructor(options: WatchCacheOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#transformers = options.transformers;
    const { store, clock } = options;
    this.#ages = new RevisionAges(clock, historyMs);
    this.#catchUp = new CatchUp({ store, clock, reached: (revision, call) => this.reached(revision, call) });
  }

  get revision(): number {
    return this.#revision;
  }

  cache(ref: StorageRef): ResourceCache {
    return this.#cacheOf(storageId(ref));
  }

  /** Every resource that has, or had, objects. */
  caches(): Iterable<ResourceCache> {
    return this.#caches.values();
  }

  transformerFor(ref: StorageRef): Transformer | undefined {
    return this.#transformers.find((transformer) => transformer.handles(ref));
  }

  /** Remembers what is being written under the key, until it comes back by the watch. */
  expect(key: string, value: Uint8Array, plain: Buffer, object: KubeObject): void {
    this.#written.set(key, { value, plain, object });
  }

  /** The write did not happen. */
  unexpect(key: string): void {
    this.#written.delete(key);
  }

  /** Resolves when every change up to the revision was applied. */
  async reached(revision: number, call: Call): Promise<void> {
    if (revision <= this.#revision) return;
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        this.#waiters.delete(waiter);
        reject(call.signal.reason);
      };
      const waiter: Waiter = {
        revision,
        resolve: () => {
          call.signal.removeEventListener("abort", stop);
          resolve();
        },
      };
      if (call.signal.aborted) return reject(call.signal.reason);
      call.signal.addEventListener("abort", stop, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Resolves when every write was applied that anyone, also by another server, was told of before this call. */
  caughtUp(call: Call): Promise<void> {
    return this.#catchUp.now(call);
  }

  /** Loads everything; then `follow` must run for as long as the cache is used. */
  async load(call: Call): Promise<void> {
    let after: string | undefined;
    let atRevision: number | undefined;
    for (;;) {
      const page = await this.#store.list(
        registryRoot,
        {
          limit: loadPageSize,
          ...(after === undefined ? {} : { after }),
          ...(atRevision === undefined ? {} : { atRevision }),
        },
        call,
      );
      atRevision ??= page.revision;
      this.#revision = atRevision;
      this.#loadedAt = atRevision;
      for (const entry of page.entries) this.#loadEntry(entry);
      after = page.entries.at(-1)?.key;
      if (page.remaining === 0 || after === undefined) return;
    }
  }

  /** Applies changes until the call is stopped; a broken watch is taken up again where it ended. */
  async follow(call: Call): Promise<void> {
    while (!call.signal.aborted) {
      try {
        for await (const events of this.#store.watch(registryRoot, this.#revision, call)) {
          for (const event of events) this.#apply(event);
          this.#wake();
          this.#forgetOld();
        }
      } catch (error) {
        if (call.signal.aborted) return;
        if (isFault(error, "expired")) await this.#reload(call);
        else this.#log.warn({ err: error }, "watch of the store broke; taking it up again");
        await this.#clock.sleep(200, call).catch(() => {});
      }
    }
  }

  /** After a gap in the watch: what is there now becomes events against what was known. */
  async #reload(call: Call): Promise<void> {
    this.#log.warn({ revision: this.#revision }, "fell behind the store's history; reading it again");
    const { entries, revision } = await this.#store.list(registryRoot, {}, call);
    const seen = new Set(entries.map((entry) => entry.key));
    for (const cache of this.#caches.values()) {
      for (const entry of cache.sorted()) {
        if (!seen.has(`${registryRoot}${cache.id}/${entry.key}`)) cache.delete(entry.key, revision);
      }
    }
    for (const entry of entries) {
      const split = splitKey(entry.key);
      if (split && this.#cacheOf(split.id).get(split.local)?.revision !== entry.revision) this.#put(entry);
    }
    this.#revision = revision;
    this.#loadedAt = revision;
    for (const cache of this.#caches.values()) cache.forgetHistory(revision);
    this.#wake();
  }

  #apply(event: StoreEvent): void {
    // The revision moves first: who is told of the event may ask for it.
    this.#revision = Math.max(this.#revision, event.revision);
    if (event.type === "put") return this.#put(event.entry);
    const split = splitKey(event.key);
    if (split) this.#cacheOf(split.id).delete(split.local, event.revision);
  }

  #put(entry: StoreEntry): void {
    const split = splitKey(entry.key);
    if (!split) return;
    const written = this.#written.get(entry.key);
    if (written) this.#written.delete(entry.key);
    const own = written && Buffer.compare(written.value, entry.value) === 0 ? written : undefined;
    if (own) own.object.metadata.resourceVersion = String(entry.revision);
    const plain = own?.plain ?? this.#open(split.id, entry);
    if (plain) this.#cacheOf(split.id).put(split.local, plain, entry, own?.object);
  }

  #loadEntry(entry: StoreEntry): void {
    const split = splitKey(entry.key);
    const plain = split && this.#open(split.id, entry);
    if (plain) this.#cacheOf(split.id).load(split.local, plain, entry);
  }

  #open(id: string, entry: StoreEntry): Buffer | undefined {
    const slash = id.indexOf("/");
    const group = id.slice(0, slash);
    const transformer = this.transformerFor({ group: group === "core" ? "" : group, plural: id.slice(slash + 1) });
    if (!transformer) return asBuffer(entry.value);
    try {
      return asBuffer(transformer.open(entry.key, entry.value));
    } catch (error) {
      // One object that cannot be decrypted must not take the whole API down with it.
      this.#log.error({ err: error, key: entry.key }, "cannot read a stored object; leaving it out");
      return undefined;
    }
  }

  /** Changes from before this process, or too many ago for the cache, as the store's own history tells them. */
  #recall(id: string, since: number, until: number): CacheEvent[] {
    const tooOld = (cause?: unknown) =>
      new Fault("expired", `too old resource version: ${since} (${until})`, cause === undefined ? {} : { cause });
    if (!this.#store.recent) throw tooOld();
    let kept: readonly StoreEvent[];
    try {
      kept = this.#store.recent(`${registryRoot}${id}/`, since);
    } catch (error) {
      throw isFault(error, "expired") ? tooOld(error) : error;
    }
    return kept.flatMap((event) => {
      if (event.revision > until) return [];
      const recalled = this.#recalled(id, event);
      // Such as one encrypted with a key that was dropped since. Without its event a watcher would keep what is gone; it must list anew.
      if (!recalled) throw tooOld();
      return [recalled];
    });
  }

  #recalled(id: string, event: StoreEvent): CacheEvent | undefined {
    const previous = event.previous && this.#entryOf(id, event.previous);
    const { revision } = event;
    // Whether it entered or left what is selected cannot be told without the state before.
    if (event.previous && !previous) return undefined;
    if (event.type === "delete")
      return previous && { type: "DELETED", revision, entry: previous.deletedAt(revision), previous };
    const entry = this.#entryOf(id, event.entry);
    return entry && { type: previous ? "MODIFIED" : "ADDED", revision, entry, previous };
  }

  #entryOf(id: string, stored: StoreEntry): Entry | undefined {
    const split = splitKey(stored.key);
    const plain = split && this.#open(id, stored);
    return plain && new Entry(split.local, plain, stored);
  }

  #cacheOf(id: string): ResourceCache {
    let cache = this.#caches.get(id);
    if (!cache) {
      cache = new ResourceCache(id, this.#loadedAt, {
        recall: (since, until) => this.#recall(id, since, until),
        onListenerError: (error) => this.#log.error({ err: error, resource: id }, "a follower of the cache failed"),
      });
      this.#caches.set(id, cache);
    }
    return cache;
  }

  #forgetOld(): void {
    const old = this.#ages.mark(this.#revision);
    if (old === undefined) return;
    for (const cache of this.#caches.values()) cache.forgetUntil(old);
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision > this.#revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
