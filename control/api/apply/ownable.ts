// What of an object can be owned by its writers.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";

/** Of the metadata: the object's identity and what the server writes. */
const unowned = new Set([
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "generation",
  "managedFields",
  "resourceVersion",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
]);

/** Whether nobody owns the field of the metadata. */
export const isUnowned = (field: string): boolean => unowned.has(field);

/** The object without its identity and what the server writes. */
export function ownable(object: KubeObject | undefined): Record<string, unknown> {
  if (!object) return {};
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([field]) => !isUnowned(field)));
  return Object.keys(kept).length === 0 ? rest : { ...rest, metadata: kept };
}
