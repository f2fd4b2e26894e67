// Informers keep a local copy of a collection in step with the API server: list once, watch from there, list again only
// when the server has forgotten where we were.
//
// Invariants: handlers see events in the order of the server and never two at once; an object is in the copy before its
// event is told; after `synced` the copy is a state the server really had, though perhaps an old one.

import type { Call } from "../base/call.ts";
import type { ApiClient, WatchEvent } from "./client/api-client.ts";
import type { Clock } from "../base/clock.ts";
import { isFault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { apiVersionOf, type ResourceRef } from "./objects/resources.ts";
import type { ObjectMeta } from "./objects/types.ts";

interface Lister<T> {
  /** The namespace is empty for cluster-scoped objects. Nobody may change what is returned. */
  get(namespace: string, name: string): T | undefined;
  list(namespace?: string): readonly T[];
}

export interface InformerEvent<T> {
  readonly type: "add" | "update" | "delete";
  readonly object: T;
  readonly previous?: T | undefined;
}

export interface Informer<T> extends Lister<T> {
  readonly synced: Promise<void>;
  isSynced(): boolean;
  /** Tells of what is there already as adds, then of every change; returns what ends it. */
  onEvent(handler: (event: InformerEvent<T>) => void): () => void;
}

export interface WatchingInformerOptions<T> {
  readonly client: ApiClient;
  readonly ref: ResourceRef;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Run on every object before it is kept, to drop what nobody reads. */
  readonly transform?: (object: T) => T;
}

interface Meta {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

const firstBackOffMs = 250;
const longestBackOffMs = 30_000;
const tellForbiddenMs = 4_000;
// Servers end a watch after this; several informers started together should not come back together.
const shortestWatchSeconds = 300;

export class WatchingInformer<T> implements Informer<T> {
  readonly synced: Promise<void>;
  readonly #options: WatchingInformerOptions<T>;
  readonly #objects = new Map<string, Map<string, T>>();
  readonly #handlers = new Set<(event: InformerEvent<T>) => void>();
  #isSynced = false;
  #onSynced: () => void = () => {};
  #resourceVersion: string | undefined;

  constructor(options: WatchingInformerOptions<T>) {
    this.#options = options;
    this.synced = new Promise((resolve) => {
      this.#onSynced = resolve;
    });
  }

  isSynced(): boolean {
    return this.#isSynced;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(namespace)?.get(name);
  }

  list(namespace?: string): readonly T[] {
    if (namespace !== undefined) return [...(this.#objects.get(namespace)?.values() ?? [])];
    return [...this.#objects.values()].flatMap((objects) => [...objects.values()]);
  }

  onEvent(handler: (event: InformerEvent<T>) => void): () => void {
    for (const object of this.list()) this.#tell(handler, { type: "add", object });
    this.#handlers.add(handler);
    return () => {
      this.#handlers.delete(handler);
    };
  }

  /** Works until the call is stopped. */
  async run(call: Call): Promise<void> {
    const { clock, log, ref } = this.#options;
    let backOffMs = firstBackOffMs;
    let isTold = false;
    while (!call.signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#relist(call);
        const startedAt = clock.monotonic();
        const isAlive = await this.#follow(call);
        // A server that ends watches at once would otherwise be asked in a tight loop.
        if (isAlive || clock.monotonic() - startedAt > 1000) {
          backOffMs = firstBackOffMs;
          continue;
        }
      } catch (error) {
        if (call.signal.aborted) break;
        if (isFault(error, "expired", "invalid")) this.#resourceVersion = undefined;
        log.debug({ err: error, resource: ref.plural, backOffMs }, "watch ended");
        // Rights may come a moment after a start; who still lacks them then waits for something that a person has to grant.
        if (!isTold && isFault(error, "forbidden") && backOffMs >= tellForbiddenMs) {
          isTold = true;
          log.warn({ err: error, resource: ref.plural }, "these may not be watched: what depends on them waits");
        }
        if (isFault(error, "expired") && backOffMs === firstBackOffMs) {
          backOffMs *= 2;
          continue;
        }
      }
      await this.#pause(backOffMs, call);
      backOffMs = Math.min(backOffMs * 2, longestBackOffMs);
    }
  }

  async #pause(ms: number, call: Call): Promise<void> {
    try {
      await this.#options.clock.sleep(ms * (0.75 + Math.random() / 2), call);
    } catch {
      // Stopped: the loop sees it.
    }
  }

  async #relist(call: Call): Promise<void> {
    const { client, ref, namespace, labelSelector, fieldSelector } = this.#options;
    const list = await client.listAll<T>(ref, { namespace, labelSelector, fieldSelector }, call);
    const present = new Set<string>();
    for (const object of list.items) {
      present.add(keyOf(object));
      this.#put(object);
    }
    for (const object of this.list()) if (!present.has(keyOf(object))) this.#remove(object);
    this.#resourceVersion = list.metadata.resourceVersion;
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#onSynced();
  }

  /** Follows one watch to its end; true when anything came over it. */
  async #follow(call: Call): Promise<boolean> {
    const { client, ref, namespace, labelSelector, fieldSelector } = this.#options;
    const timeoutSeconds = Math.floor(shortestWatchSeconds * (1 + Math.random()));
    // A connection that died without a word must not be waited on for ever.
    const stop = new AbortController();
    const cancel = this.#options.clock.after((timeoutSeconds + 30) * 1000, () => stop.abort());
    const watch = {
      namespace,
      labelSelector,
      fieldSelector,
      resourceVersion: this.#resourceVersion,
      allowBookmarks: true,
      timeoutSeconds,
    };
    let isAlive = false;
    try {
      for await (const event of client.watch<T>(ref, watch, { signal: AbortSignal.any([call.signal, stop.signal]) })) {
        isAlive = true;
        this.#apply(event);
      }
    } finally {
      cancel();
    }
    return isAlive;
  }

  #apply(event: WatchEvent<T>): void {
    if (event.type === "ADDED" || event.type === "MODIFIED") this.#put(event.object);
    else if (event.type === "DELETED") this.#remove(event.object);
    this.#resourceVersion = (event.object as Meta).metadata.resourceVersion ?? this.#resourceVersion;
  }

  #put(raw: T): void {
    const meta = raw as Meta;
    meta.apiVersion ??= apiVersionOf(this.#options.ref);
    meta.kind ??= this.#options.ref.kind;
    const object = this.#options.transform ? this.#options.transform(raw) : raw;
    const namespace = meta.metadata.namespace ?? "";
    const name = meta.metadata.name ?? "";
    const objects = this.#objects.get(namespace) ?? new Map<string, T>();
    this.#objects.set(namespace, objects);
    const previous = objects.get(name);
    objects.set(name, object);
    if (previous === undefined) return this.#tellAll({ type: "add", object });
    const before = (previous as Meta).metadata;
    // The same name with another identity: the first one is gone, and who follows it must hear so.
    if (before.uid !== meta.metadata.uid) {
      this.#tellAll({ type: "delete", object: previous });
      this.#tellAll({ type: "add", object });
    } else if (before.resourceVersion !== meta.metadata.resourceVersion) {
      this.#tellAll({ type: "update", object, previous });
    }
  }

  #remove(object: T): void {
    const { namespace = "", name = "" } = (object as Meta).metadata;
    const objects = this.#objects.get(namespace);
    const previous = objects?.get(name);
    if (!objects?.delete(name) || previous === undefined) return;
    if (objects.size === 0) this.#objects.delete(namespace);
    this.#tellAll({ type: "delete", object, previous });
  }

  #tellAll(event: InformerEvent<T>): void {
    for (const handler of this.#handlers) this.#tell(handler, event);
  }

  #tell(handler: (event: InformerEvent<T>) => void, event: InformerEvent<T>): void {
    try {
      handler(event);
    } catch (error) {
      this.#options.log.error({ err: error, resource: this.#options.ref.plural }, "an informer's handler failed");
    }
  }
}

function keyOf(object: unknown): string {
  const { namespace, name } = (object as Meta).metadata;
  return `${namespace ?? ""}/${name}`;
}
