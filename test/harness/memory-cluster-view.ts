// A ClusterView that a test fills by hand: views, reads and status writes all see the same few objects.

import type { AccessQuestion, ClusterView, GroupResource } from "../../plugins/kit/kube/cluster-view.ts";
import type { Informer } from "../../plugins/kit/kube/informer.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { MemoryInformer } from "./memory-informer.ts";

export class MemoryClusterView implements ClusterView {
  readonly #informers = new Map<string, MemoryInformer<KubeObject>>();
  readonly #unseen = new Map<string, KubeObject>();
  #revision = 1;
  /** Answers `mayDo`; everything is refused unless a test says otherwise. */
  allows: (question: AccessQuestion) => boolean = () => false;

  informer<T extends object = KubeObject>(of: GroupResource): Informer<T> {
    return this.#of(of) as unknown as Informer<T>;
  }

  async read<T extends object = KubeObject>(
    of: GroupResource,
    at: { namespace: string; name: string },
  ): Promise<T | undefined> {
    const seen = this.#of(of).get(at.namespace, at.name) ?? this.#unseen.get(keyOf(of, at));
    return seen as unknown as T | undefined;
  }

  async updateStatus<T extends object = KubeObject>(of: GroupResource, object: T): Promise<T | undefined> {
    // A turn of the loop, as a store would take: races are real here too.
    await new Promise((resolve) => setImmediate(resolve));
    const next = structuredClone(object) as unknown as KubeObject;
    const { namespace = "", name = "" } = next.metadata;
    const stored = this.#of(of).get(namespace, name);
    if (!stored || stored.metadata.resourceVersion !== next.metadata.resourceVersion) return undefined;
    return this.put(of, { ...stored, status: next.status }) as unknown as T;
  }

  async mayDo(question: AccessQuestion): Promise<boolean> {
    return this.allows(question);
  }

  put(of: GroupResource, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision++) } };
    this.#of(of).put(stored);
    return stored;
  }

  /** Stored, but not in the view yet: only `read` finds it. */
  putUnseen(of: GroupResource, object: KubeObject): void {
    const { namespace = "", name = "" } = object.metadata;
    this.#unseen.set(keyOf(of, { namespace, name }), object);
  }

  delete(of: GroupResource, object: KubeObject): void {
    this.#of(of).delete(object);
  }

  #of({ group, plural }: GroupResource): MemoryInformer<KubeObject> {
    const key = `${group}/${plural}`;
    let informer = this.#informers.get(key);
    if (!informer) {
      informer = new MemoryInformer();
      this.#informers.set(key, informer);
    }
    return informer;
  }
}

const keyOf = ({ group, plural }: GroupResource, { namespace, name }: { namespace: string; name: string }) =>
  `${group}/${plural}/${namespace}/${name}`;
