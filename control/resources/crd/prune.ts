// Drops fields that a structural schema does not have, and fills in its defaults.

import { childPath, isObject, type Json, propertyOf, setField, type StructuralSchema } from "./structural-schema.ts";

const objectFields = new Set(["apiVersion", "kind", "metadata"]);

export interface Pruned {
  /** The paths of what was dropped. */
  readonly dropped: string[];
  /** Metadata of objects within the object, by path: a schema says nothing of it, so it is left as it was. */
  readonly metadata: Map<string, Json>;
}

/** Changes the object in place. */
export function prune(object: Json, schema: StructuralSchema): Pruned {
  const pruned: Pruned = { dropped: [], metadata: new Map() };
  pruneValue(object, schema, "", pruned, true);
  return pruned;
}

function pruneValue(
  value: unknown,
  schema: StructuralSchema | undefined,
  path: string,
  pruned: Pruned,
  isResource: boolean,
): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => pruneValue(item, schema?.items, `${path}[${index}]`, pruned, false));
    return;
  }
  if (!isObject(value) || !schema) return;
  const keepsAll = schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
  const embedded = isResource || schema["x-kubernetes-embedded-resource"] === true;
  for (const name of Object.keys(value)) {
    const at = childPath(path, name);
    if (embedded && objectFields.has(name)) {
      const item = value[name];
      if (!isResource && name === "metadata" && isObject(item)) pruned.metadata.set(at, item);
      continue;
    }
    const below = propertyOf(schema, name);
    if (below) pruneValue(value[name], below, at, pruned, false);
    else if (!keepsAll) {
      pruned.dropped.push(at);
      delete value[name];
    }
  }
}

/** Fills in defaults, and drops nulls of fields that may not be null. */
export function applyDefaults(value: unknown, schema: StructuralSchema | undefined): void {
  if (!schema) return;
  if (Array.isArray(value)) {
    for (const item of value) applyDefaults(item, schema.items);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    if (value[name] === null && below.nullable !== true && below.default !== undefined) delete value[name];
    if (!Object.hasOwn(value, name) && below.default !== undefined)
      setField(value, name, structuredClone(below.default));
  }
  for (const name of Object.keys(value)) applyDefaults(value[name], propertyOf(schema, name));
}
