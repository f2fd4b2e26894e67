// Compares two states of an object by its shape: which fields are new, changed or gone.

import { deepEqual } from "../../resources/equal.ts";
import { PathSet } from "./path-set.ts";
import { elementStep, type ListShape, type ObjectShape, type Shape } from "./shape.ts";

export interface Comparison {
  /** New fields and fields with another value. */
  readonly changed: PathSet;
  readonly removed: PathSet;
}

type Json = Record<string, unknown>;

/** Either side may be undefined. */
export function compare(before: unknown, after: unknown, shape: Shape): Comparison {
  const comparison = { changed: new PathSet(), removed: new PathSet() };
  visit(before, after, shape, [], comparison);
  return comparison;
}

/** Every field that the value has: its leaves, empty parts, and list elements. */
export function fieldsIn(value: unknown, shape: Shape): PathSet {
  const set = new PathSet();
  collect(value, shape, [], set);
  return set;
}

function collect(value: unknown, shape: Shape, path: string[], set: PathSet): void {
  if (value === undefined) return;
  if (shape.is === "object" && !shape.atomic && isObject(value) && Object.keys(value).length > 0) {
    for (const key of Object.keys(value)) collect(value[key], shape.child(key), [...path, `f:${key}`], set);
  } else if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(value) && value.length > 0) {
    for (const [step, element] of byStep(value, shape)) {
      set.add([...path, step]);
      if (shape.by !== "set") collect(element, shape.item, [...path, step], set);
    }
  } else if (path.length > 0) set.add(path);
}

function visit(before: unknown, after: unknown, shape: Shape, path: string[], comparison: Comparison): void {
  if (before === undefined && after === undefined) return;
  const sample = after ?? before;
  if (shape.is === "object" && !shape.atomic && isObject(sample) && !bothEmpty(before, after)) {
    visitObject(before, after, shape, path, comparison);
  } else if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(sample) && !bothEmpty(before, after)) {
    visitList(before, after, shape, path, comparison);
  } else {
    if (after === undefined) comparison.removed.add(path);
    else if (before === undefined || !deepEqual(before, after)) comparison.changed.add(path);
    return;
  }
  if (path.length === 0) return;
  if (before === undefined) comparison.changed.add(path);
  else if (after === undefined) comparison.removed.add(path);
}

function visitObject(
  before: unknown,
  after: unknown,
  shape: ObjectShape,
  path: string[],
  comparison: Comparison,
): void {
  const left = isObject(before) ? before : {};
  const right = isObject(after) ? after : {};
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const a = Object.hasOwn(left, key) ? left[key] : undefined;
    const b = Object.hasOwn(right, key) ? right[key] : undefined;
    visit(a, b, shape.child(key), [...path, `f:${key}`], comparison);
  }
}

function visitList(before: unknown, after: unknown, shape: ListShape, path: string[], comparison: Comparison): void {
  const left = byStep(before, shape);
  const right = byStep(after, shape);
  for (const step of new Set([...left.keys(), ...right.keys()]))
    visit(
      left.get(step),
      right.get(step),
      shape.by === "set" ? { is: "leaf" } : shape.item,
      [...path, step],
      comparison,
    );
}

export function byStep(list: unknown, shape: ListShape): Map<string, unknown> {
  const elements = new Map<string, unknown>();
  for (const element of Array.isArray(list) ? list : []) {
    const step = elementStep(shape.by, element);
    if (step !== undefined) elements.set(step, element);
  }
  return elements;
}

function bothEmpty(before: unknown, after: unknown): boolean {
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
  return isEmpty(before) && isEmpty(after);
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
