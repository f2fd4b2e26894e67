// Where objects live in the store: `/registry/<group or core>/<plural>/[<namespace>/]<name>`.

export const registryRoot = "/registry/";

/** Written to make the watch of the registry say something; names no object. */
export const markKey = `${registryRoot}mark`;

/** The place of a resource in the store; versions of one resource share it. */
export interface StorageRef {
  readonly group: string;
  readonly plural: string;
}

/** `core/configmaps`, `apps/deployments`: names one resource's cache. */
export function storageId(ref: StorageRef): string {
  return `${ref.group === "" ? "core" : ref.group}/${ref.plural}`;
}

export function storagePrefix(ref: StorageRef): string {
  return `${registryRoot}${storageId(ref)}/`;
}

/** `namespace/name`, or the name alone for cluster-wide objects: the key inside one resource's cache. */
export function localKey(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

export function storageKey(ref: StorageRef, namespace: string, name: string): string {
  return storagePrefix(ref) + localKey(namespace, name);
}

/** Splits a store key into the cache it belongs to and the key inside it; undefined for keys of other owners. */
export function splitKey(key: string): { id: string; local: string } | undefined {
  if (!key.startsWith(registryRoot)) return undefined;
  const group = key.indexOf("/", registryRoot.length);
  const plural = group < 0 ? -1 : key.indexOf("/", group + 1);
  if (plural < 0) return undefined;
  return { id: key.slice(registryRoot.length, plural), local: key.slice(plural + 1) };
}
