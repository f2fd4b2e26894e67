// Owner references: who controls an object, and the references a controller writes.

import type { KubeObject, OwnerReference } from "../../plugins/kit/kube/objects/types.ts";

type Owned = Pick<KubeObject, "metadata">;

export function controllerOf(object: Owned): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

export function isControlledBy(object: Owned, owner: Owned): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

export function controllerReference(owner: Owned, type: { apiVersion: string; kind: string }): OwnerReference {
  return {
    apiVersion: type.apiVersion,
    kind: type.kind,
    name: owner.metadata.name ?? "",
    uid: owner.metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** `namespace/name`, or the name alone for what belongs to the cluster. */
export function keyOf(object: Owned): string {
  const { namespace, name } = object.metadata;
  return namespace ? `${namespace}/${name}` : (name ?? "");
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { namespace: "", name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
