// An Informer that a test fills by hand: a small real implementation of the view contract, without a server.

import type { Informer, InformerEvent } from "../../plugins/kit/kube/informer.ts";
import type { ObjectMeta } from "../../plugins/kit/kube/objects/types.ts";

export class MemoryInformer<T extends { metadata: ObjectMeta }> implements Informer<T> {
  readonly synced: Promise<void> = Promise.resolve();
  readonly #objects = new Map<string, T>();
  readonly #handlers = new Set<(event: InformerEvent<T>) => void>();

  constructor(objects: readonly T[] = []) {
    for (const object of objects) this.put(object);
  }

  isSynced(): boolean {
    return true;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  list(namespace?: string): readonly T[] {
    const all = [...this.#objects.values()];
    return namespace === undefined ? all : all.filter((object) => (object.metadata.namespace ?? "") === namespace);
  }

  onEvent(handler: (event: InformerEvent<T>) => void): () => void {
    this.#handlers.add(handler);
    for (const object of this.#objects.values()) handler({ type: "add", object });
    return () => this.#handlers.delete(handler);
  }

  put(object: T): void {
    const previous = this.#objects.get(keyOf(object));
    this.#objects.set(keyOf(object), object);
    this.#tell(previous ? { type: "update", object, previous } : { type: "add", object });
  }

  delete(object: T): void {
    if (this.#objects.delete(keyOf(object))) this.#tell({ type: "delete", object });
  }

  #tell(event: InformerEvent<T>): void {
    for (const handler of this.#handlers) handler(event);
  }
}

function keyOf(object: { metadata: ObjectMeta }): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name ?? ""}`;
}
