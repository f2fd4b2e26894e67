// Merges an applied configuration into the live object, and takes out what its manager no longer applies.

import type { PathSet } from "./path-set.ts";
import { byStep, isObject } from "./compare.ts";
import { elementStep, type ListShape, type Shape } from "./shape.ts";

type Json = Record<string, unknown>;

/** The live value with all of the applied one in it. Neither is changed. */
export function merge(live: unknown, applied: unknown, shape: Shape): unknown {
  if (applied === undefined) return live;
  if (shape.is === "object" && !shape.atomic && isObject(live) && isObject(applied)) {
    const result: Json = { ...live };
    for (const key of Object.keys(applied)) put(result, key, merge(own(live, key), applied[key], shape.child(key)));
    return result;
  }
  if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(live) && Array.isArray(applied))
    return mergeLists(live, applied, shape);
  return applied;
}

/** Elements of others keep their place before what followed them; applied ones stand in the applied order. */
function mergeLists(live: unknown[], applied: unknown[], shape: ListShape): unknown[] {
  const known = byStep(live, shape);
  const wanted = byStep(applied, shape);
  const liveSteps = [...known.keys()];
  const result: unknown[] = [];
  let next = 0;
  const takeOthers = () => {
    for (; next < liveSteps.length && !wanted.has(liveSteps[next] as string); next++)
      result.push(known.get(liveSteps[next] as string));
  };
  for (const [step, element] of wanted) {
    takeOthers();
    result.push(known.has(step) ? merge(known.get(step), element, shape.item) : element);
    if (liveSteps[next] === step) next++;
  }
  for (; next < liveSteps.length; next++)
    if (!wanted.has(liveSteps[next] as string)) result.push(known.get(liveSteps[next] as string));
  return result;
}

/** The value without the given paths; what becomes empty by that and is named itself goes too. */
export function without(value: unknown, gone: PathSet, shape: Shape, path: string[] = []): unknown {
  if (!gone.touches(path)) return value;
  if (shape.is === "object" && !shape.atomic && isObject(value)) {
    const result: Json = {};
    for (const key of Object.keys(value)) {
      const next = without(value[key], gone, shape.child(key), [...path, `f:${key}`]);
      if (next !== undefined) put(result, key, next);
    }
    if (gone.has(path) && Object.keys(result).length === 0 && path.length > 0) return undefined;
    return result;
  }
  if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(value)) {
    const result = value
      .map((element) => {
        const step = elementStep(shape.by, element);
        return step === undefined ? element : withoutElement(element, gone, shape, [...path, step]);
      })
      .filter((element) => element !== undefined);
    return gone.has(path) && result.length === 0 ? undefined : result;
  }
  return gone.has(path) ? undefined : value;
}

/** An element goes when it is named itself, unless others still own parts of it. */
function withoutElement(element: unknown, gone: PathSet, shape: ListShape, path: string[]): unknown {
  if (!gone.touches(path)) return element;
  if (shape.by === "set") return gone.has(path) ? undefined : element;
  const rest = without(element, gone, shape.item, path);
  if (!gone.has(path)) return rest;
  const keys = shape.by === "atomic" ? [] : shape.by;
  const isOnlyKeys = isObject(rest) && Object.keys(rest).every((key) => keys.includes(key));
  return rest === undefined || isOnlyKeys ? undefined : rest;
}

function own(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function put(target: Json, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
