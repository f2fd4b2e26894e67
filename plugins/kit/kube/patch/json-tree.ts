// JSON values as trees that patches walk: safe access to own members (a key named `__proto__` is just a key), copies and
// comparison, all with a bound on depth.

import { Fault } from "../../base/fault.ts";

export type JsonObject = Record<string, unknown>;

/** Deeper trees than this are refused; upstream's decoder stops at 10,000, our objects at a few dozen. */
const deepestTree = 512;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function getOwn(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

export function setOwn(object: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** A copy that shares nothing with the original. Members that are undefined are left out, as JSON does. */
export function cloneJson(value: unknown, depth = 0): unknown {
  checkDepth(depth);
  if (Array.isArray(value)) return value.map((item) => cloneJson(item, depth + 1));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) setOwn(copy, key, cloneJson(member, depth + 1));
  }
  return copy;
}

/** Equal as JSON: order of members does not matter, order of elements does. */
export function equalJson(a: unknown, b: unknown, depth = 0): boolean {
  checkDepth(depth);
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => equalJson(item, b[index], depth + 1));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key], depth + 1))
  );
}

export function checkDepth(depth: number): void {
  if (depth > deepestTree) throw new Fault("invalid", `The document is nested deeper than ${deepestTree} levels`);
}

/** A text that is the same for equal values and for no others. */
export function identityOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return `${typeof value} ${String(value)}`;
  return JSON.stringify(value, (_, member: unknown) => (isObject(member) ? sortedByKey(member) : member));
}

function sortedByKey(object: JsonObject): JsonObject {
  const sorted: JsonObject = {};
  for (const key of Object.keys(object).sort()) setOwn(sorted, key, object[key]);
  return sorted;
}
