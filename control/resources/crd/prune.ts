// Drops fields that a structural schema does not have, and fills in its defaults.

import { childPath, isObject, type Json, propertyOf, setField, type StructuralSchema } from "./structural-schema.ts";

const objectFields = new Set(["apiVersion", "kind", "metadata"]);

/** Changes the object in place; returns the paths of what was dropped. */
export function prune(object: Json, schema: StructuralSchema): string[] {
  const dropped: string[] = [];
  pruneValue(object, schema, "", dropped, true);
  return dropped;
}

function pruneValue(
  value: unknown,
  schema: StructuralSchema | undefined,
  path: string,
  dropped: string[],
  isResource: boolean,
): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => pruneValue(item, schema?.items, `${path}[${index}]`, dropped, false));
    return;
  }
  if (!isObject(value) || !schema) return;
  const keepsAll = schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
  const embedded = isResource || schema["x-kubernetes-embedded-resource"] === true;
  for (const name of Object.keys(value)) {
    if (embedded && objectFields.has(name)) continue;
    const below = propertyOf(schema, name);
    const at = childPath(path, name);
    if (below) pruneValue(value[name], below, at, dropped, false);
    else if (!keepsAll) {
      dropped.push(at);
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
