// In-process informers straight from the watch cache: controllers, admission and authorization share one decoded copy of
// each object, and hear of a change in the same turn in which it is applied.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { StorageRef } from "./keys.ts";
import { localKey } from "./keys.ts";
import { type CacheEvent, inNamespace, type ResourceCache } from "./resource-cache.ts";
import type { WatchCache } from "./watch-cache.ts";

export interface InformerEvent<T> {
  readonly type: "add" | "update" | "delete";
  readonly object: T;
  readonly previous?: T | undefined;
}

const eventTypes = { ADDED: "add", MODIFIED: "update", DELETED: "delete" } as const;

/** Objects are decoded for who looks at them. */
class Told<T> implements InformerEvent<T> {
  readonly type: InformerEvent<T>["type"];
  readonly #event: CacheEvent;

  constructor(event: CacheEvent) {
    this.type = eventTypes[event.type];
    this.#event = event;
  }

  get object(): T {
    return this.#event.entry.object as T;
  }

  get previous(): T | undefined {
    return this.#event.previous?.object as T | undefined;
  }
}

/** Objects are shared: never change them. */
export class CacheInformer<T = KubeObject> {
  readonly synced: Promise<void> = Promise.resolve();
  readonly #cache: ResourceCache;

  constructor(cache: ResourceCache) {
    this.#cache = cache;
    cache.keepObjects();
  }

  isSynced(): boolean {
    return true;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#cache.get(localKey(namespace, name))?.object as T | undefined;
  }

  list(namespace = ""): readonly T[] {
    return inNamespace(this.#cache.sorted(), namespace).map((entry) => entry.object as T);
  }

  /** Tells of every object that is there as an `add`, then of each change. */
  onEvent(handler: (event: InformerEvent<T>) => void): () => void {
    for (const entry of this.#cache.sorted()) handler({ type: "add", object: entry.object as T });
    return this.#cache.follow((event: CacheEvent) => handler(new Told<T>(event)));
  }
}

export class Informers {
  readonly #cache: WatchCache;
  readonly #byId = new Map<string, CacheInformer<unknown>>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  /** The one informer of a resource; objects come in the version they are stored in. */
  for<T = KubeObject>(ref: StorageRef): CacheInformer<T> {
    const cache = this.#cache.cache(ref);
    let informer = this.#byId.get(cache.id);
    if (!informer) {
      informer = new CacheInformer<unknown>(cache);
      this.#byId.set(cache.id, informer);
    }
    return informer as CacheInformer<T>;
  }
}
