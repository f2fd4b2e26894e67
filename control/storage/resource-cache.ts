// ResourceCache holds every object of one resource, in key order, and the recent changes to it.
// Invariants: all methods are synchronous; revisions only rise; `#sorted` is copied before a change once a reader holds it,
// so a list taken at a revision stays a picture of that revision.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { Entry } from "./entry.ts";
import { ObjectKeeper } from "./object-keeper.ts";

export interface CacheEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  /** The new state; for DELETED the last one, stamped with the revision that removed it. */
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

export type CacheListener = (event: CacheEvent) => void;

/** What a cache needs from whoever fills it. */
export interface CacheSource {
  /** Changes in (since, until] that the cache itself no longer holds; Fault `expired` when nobody does. */
  recall(since: number, until: number): readonly CacheEvent[];
  onListenerError(error: unknown): void;
}

const historyEvents = 1024;
const historyBytes = 4 << 20;

export class ResourceCache {
  readonly id: string;
  readonly #entries = new Map<string, Entry>();
  #sorted: Entry[] = [];
  #sortedIsShared = false;
  #history: CacheEvent[] = [];
  #historyBytes = 0;
  /** Changes after this revision are all in the history; earlier ones are recalled from the source. */
  #historySince: number;
  #keeper: ObjectKeeper | undefined;
  readonly #listeners = new Set<CacheListener>();
  readonly #source: CacheSource;

  constructor(id: string, since: number, source: CacheSource) {
    this.id = id;
    this.#historySince = since;
    this.#source = source;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** From now on decoded objects that are read are kept and shared: for resources that the process itself follows. */
  keepObjects(): void {
    if (this.#keeper) return;
    this.#keeper = new ObjectKeeper();
    for (const entry of this.#entries.values()) this.#replace(this.#remake(entry));
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** All entries in key order; stays as it is, whatever happens later. */
  sorted(): readonly Entry[] {
    this.#sortedIsShared = true;
    return this.#sorted;
  }

  /** Fills the cache at start; not an event. */
  load(key: string, value: Buffer, revisions: { revision: number; createRevision: number }): void {
    this.#insert(new Entry(key, value, revisions, undefined, this.#keeper));
  }

  put(
    key: string,
    value: Buffer,
    revisions: { revision: number; createRevision: number },
    object: KubeObject | undefined,
  ): void {
    const entry = new Entry(key, value, revisions, object, this.#keeper);
    const previous = this.#entries.get(key);
    if (previous) this.#replace(entry);
    else this.#insert(entry);
    this.#publish({ type: previous ? "MODIFIED" : "ADDED", revision: entry.revision, entry, previous });
  }

  delete(key: string, revision: number): void {
    const previous = this.#entries.get(key);
    if (!previous) return;
    this.#entries.delete(key);
    this.#own();
    this.#sorted.splice(this.#position(key), 1);
    this.#publish({ type: "DELETED", revision, entry: previous.deletedAt(revision), previous });
  }

  /** Hands over every change after the revision, then each new one as it happens. Fault `expired` when it is too long ago. */
  subscribe(since: number, listener: CacheListener): () => void {
    for (const event of this.#eventsAfter(since)) listener(event);
    return this.follow(listener);
  }

  /** Hands over each change from now on. */
  follow(listener: CacheListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** After a gap: changes before the revision can no longer be told one by one. */
  forgetHistory(revision: number): void {
    this.#history = [];
    this.#historyBytes = 0;
    this.#historySince = revision;
  }

  /** Drops the changes up to the revision. A watch from after the last of them is still served from here. */
  forgetUntil(revision: number): void {
    const kept = this.#history.findIndex((event) => event.revision > revision);
    this.#drop(kept < 0 ? this.#history.length : kept);
  }

  #eventsAfter(since: number): readonly CacheEvent[] {
    if (since < this.#historySince) return [...this.#source.recall(since, this.#historySince), ...this.#history];
    let from = this.#history.length;
    while (from > 0 && (this.#history[from - 1] as CacheEvent).revision > since) from--;
    return this.#history.slice(from);
  }

  #publish(event: CacheEvent): void {
    this.#history.push(event);
    this.#historyBytes += event.entry.value.length;
    // The older half at once, so that the cost of shifting is rare.
    if (this.#history.length > historyEvents || this.#historyBytes > historyBytes)
      this.#drop(Math.floor(this.#history.length / 2));
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#source.onListenerError(error);
      }
    }
    event.previous?.supersede();
    // That it was told of is no sign that anybody will read it again.
    event.entry.wasRead();
  }

  #drop(count: number): void {
    const last = this.#history[count - 1];
    if (!last) return;
    this.#historySince = last.revision;
    this.#history = this.#history.slice(count);
    this.#historyBytes = this.#history.reduce((sum, event) => sum + event.entry.value.length, 0);
  }

  #remake(entry: Entry): Entry {
    return new Entry(entry.key, entry.value, entry, undefined, this.#keeper);
  }

  #insert(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    this.#own();
    const last = this.#sorted[this.#sorted.length - 1];
    if (!last || last.key < entry.key) this.#sorted.push(entry);
    else this.#sorted.splice(this.#position(entry.key), 0, entry);
  }

  #replace(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    this.#own();
    this.#sorted[this.#position(entry.key)] = entry;
  }

  #own(): void {
    if (!this.#sortedIsShared) return;
    this.#sorted = this.#sorted.slice();
    this.#sortedIsShared = false;
  }

  #position(key: string): number {
    return firstAtOrAfter(this.#sorted, key);
  }
}

/** The index of the first entry whose key is not less than the given one. */
export function firstAtOrAfter(sorted: readonly Entry[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as Entry).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The entries of one namespace, or all of them; shares the array where it can. */
export function inNamespace(sorted: readonly Entry[], namespace: string): readonly Entry[] {
  if (namespace === "") return sorted;
  const from = firstAtOrAfter(sorted, `${namespace}/`);
  const to = firstAtOrAfter(sorted, `${namespace}0`); // "0" is the character behind "/"
  return from === 0 && to === sorted.length ? sorted : sorted.slice(from, to);
}
