// Who owns whom: every object with its owners, and for every owner its dependents. Fed by informers; holds metadata only.

import type { ResourceRef } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta, OwnerReference } from "../../../plugins/kit/kube/objects/types.ts";

export interface GraphNode {
  readonly uid: string;
  readonly resource: ResourceRef;
  readonly namespace: string;
  readonly name: string;
  readonly owners: readonly OwnerReference[];
  readonly isDeleting: boolean;
  /** Asked to be deleted only after its dependents. */
  readonly waitsForDependents: boolean;
  /** Asked to leave its dependents behind. */
  readonly orphans: boolean;
}

const none: ReadonlySet<string> = new Set();

export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new Map<string, Set<string>>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  /** Uids of objects that name this one as an owner, whether or not it exists. */
  dependentsOf(uid: string): ReadonlySet<string> {
    return this.#dependents.get(uid) ?? none;
  }

  set(resource: ResourceRef, metadata: ObjectMeta): GraphNode {
    const uid = metadata.uid ?? "";
    this.remove(uid);
    const node: GraphNode = {
      uid,
      resource,
      namespace: metadata.namespace ?? "",
      name: metadata.name ?? "",
      owners: metadata.ownerReferences ?? [],
      isDeleting: metadata.deletionTimestamp !== undefined,
      waitsForDependents: metadata.deletionTimestamp !== undefined && hasFinalizer(metadata, "foregroundDeletion"),
      orphans: metadata.deletionTimestamp !== undefined && hasFinalizer(metadata, "orphan"),
    };
    this.#nodes.set(uid, node);
    for (const owner of node.owners) {
      const dependents = this.#dependents.get(owner.uid) ?? new Set();
      this.#dependents.set(owner.uid, dependents.add(uid));
    }
    return node;
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (!node) return;
    this.#nodes.delete(uid);
    for (const owner of node.owners) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}

function hasFinalizer(metadata: ObjectMeta, name: string): boolean {
  return metadata.finalizers?.includes(name) ?? false;
}
