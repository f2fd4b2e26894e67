// Objects as decisions have left them though the API does not show it yet: a volume that a claim was given, a claim that was meant for
// a node. Each holds until the object is seen in another version, or the pod that it was for is given up.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { ClusterView } from "../../plugins/kit/contracts/scheduling.ts";

type Listers = Pick<ClusterView, "list" | "get">;

interface Assumed {
  readonly object: KubeObject;
  readonly uid: string;
}

const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;

/** The listers with what is assumed in place of what they show. */
export class AssumedObjects {
  readonly #listers: Listers;
  readonly #byResource = new Map<string, Map<string, Assumed>>();

  constructor(listers: Listers) {
    this.#listers = listers;
  }

  list<T>(resource: string, namespace?: string): readonly T[] {
    const shown = this.#listers.list<T>(resource, namespace);
    const assumed = this.#byResource.get(resource);
    return assumed ? shown.map((object) => this.#current(assumed, object as KubeObject) as T) : shown;
  }

  get<T>(resource: string, namespace: string, name: string): T | undefined {
    const shown = this.#listers.get<T>(resource, namespace, name);
    const assumed = this.#byResource.get(resource);
    return assumed && shown ? (this.#current(assumed, shown as unknown as KubeObject) as T) : shown;
  }

  /** For the pod of this uid; a later one for the same object replaces an earlier. */
  add(uid: string, resource: string, object: KubeObject): void {
    let assumed = this.#byResource.get(resource);
    if (!assumed) this.#byResource.set(resource, (assumed = new Map()));
    // What has come true, or was deleted, is not kept for longer than until the next one.
    for (const [key, { object: known }] of assumed) {
      const { namespace = "", name = "", resourceVersion } = known.metadata;
      if (this.#listers.get<KubeObject>(resource, namespace, name)?.metadata.resourceVersion !== resourceVersion)
        assumed.delete(key);
    }
    assumed.set(keyOf(object), { object, uid });
  }

  of<T>(uid: string, resource: string): T[] {
    const own = [...(this.#byResource.get(resource)?.values() ?? [])].filter((one) => one.uid === uid);
    return own.map(({ object }) => object as T);
  }

  forget(uid: string): void {
    for (const [resource, assumed] of this.#byResource) {
      for (const [key, one] of assumed) if (one.uid === uid) assumed.delete(key);
      if (assumed.size === 0) this.#byResource.delete(resource);
    }
  }

  #current(assumed: Map<string, Assumed>, shown: KubeObject): KubeObject {
    const known = assumed.get(keyOf(shown));
    if (!known) return shown;
    if (known.object.metadata.resourceVersion === shown.metadata.resourceVersion) return known.object;
    assumed.delete(keyOf(shown));
    return shown;
  }
}
