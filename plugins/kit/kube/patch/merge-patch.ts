// JSON merge patch (RFC 7386): members are merged, null deletes, everything else replaces.

import { checkDepth, cloneJson, getOwn, isObject, type JsonObject, setOwn } from "./json-tree.ts";

/** The patched document; neither argument is changed or shared. */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  return merge(document, patch, 0);
}

function merge(document: unknown, patch: unknown, depth: number): unknown {
  checkDepth(depth);
  if (!isObject(patch)) return cloneJson(patch, depth);
  const base: JsonObject = isObject(document) ? document : {};
  const merged: JsonObject = {};
  for (const [key, value] of Object.entries(base)) {
    if (!Object.hasOwn(patch, key) && value !== undefined) setOwn(merged, key, cloneJson(value, depth + 1));
    // Keeps the place of a member that is patched, so that documents stay readable.
    else if (patch[key] !== null && value !== undefined) setOwn(merged, key, undefined);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) continue;
    setOwn(merged, key, merge(getOwn(base, key), value, depth + 1));
  }
  return merged;
}
