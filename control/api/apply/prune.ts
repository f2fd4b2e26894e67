// Removes from a merged object what its manager applied before and no longer applies, and nobody else owns.

import { isObject } from "./compare.ts";
import { fieldStep, type Node, type PathSet } from "./path-set.ts";
import { elementStep } from "./shape.ts";
import type { ListShape, ObjectShape, Shape } from "../../resources/shape.ts";

type Json = Record<string, unknown>;

/**
 * The merged value without the fields and list elements that are in `last` and that `owned` has no part of: they go whole, with what the
 * server filled in below them and nobody owns. An element that is given up goes even where someone else owns a field of it, but not
 * the element. `owned` are the fields of all managers, of the new configuration too.
 */
export function prune(merged: Json, last: PathSet, owned: PathSet, shape: Shape): Json {
  if (shape.is !== "object") return merged;
  // Like the whole object, its metadata as such is nobody's: it is always there.
  const root: ObjectShape = { ...shape, hasField: (name) => name !== "metadata" && shape.hasField(name) };
  const at: Place = { last: last.root, owned: owned.root, wasOwned: false, isGone: false };
  return pruneObject(merged, at, root);
}

interface Place {
  readonly last: Node | undefined;
  readonly owned: Node | undefined;
  /** Whether it or something around it was applied before. */
  readonly wasOwned: boolean;
  /** Whether it or something around it was applied before and has no owner now. */
  readonly isGone: boolean;
}

const removed = Symbol("removed");

/** What is left of a field or an element. */
function pruneChild(value: unknown, step: string, parent: Place, isField: boolean, shape: Shape): unknown {
  const last = parent.last?.below?.get(step);
  if (last === undefined) return value;
  const owned = parent.owned?.below?.get(step);
  const isLast = isMember(last, isField);
  const wasOwned = parent.wasOwned || isLast;
  const isGone = parent.isGone || (wasOwned && !isMember(owned, isField));
  if (isLast && isGone) return removed;
  const place: Place = { last, owned, wasOwned, isGone };
  if (shape.is === "object" && !shape.atomic && isObject(value)) {
    const left = pruneObject(value, place, shape);
    return isEmptied(left, value) && owned?.isMember !== true ? removed : left;
  }
  if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(value)) {
    const left = pruneList(value, place, shape);
    return isEmptied(left, value) ? removed : left;
  }
  return value;
}

const isEmptied = (left: object, before: object): boolean =>
  Object.keys(left).length === 0 && Object.keys(before).length > 0;

/** A declared field is owned together with what is below it; the key of a map and a list element only by themselves. */
function isMember(node: Node | undefined, isField: boolean): boolean {
  return node !== undefined && (node.isMember || (isField && node.below !== undefined && node.below.size > 0));
}

function pruneObject(value: Json, place: Place, shape: ObjectShape): Json {
  const result: Json = {};
  for (const key of Object.keys(value)) {
    const left = pruneChild(value[key], fieldStep(key), place, shape.hasField(key), shape.child(key));
    if (left !== removed)
      Object.defineProperty(result, key, { value: left, writable: true, enumerable: true, configurable: true });
  }
  return result;
}

function pruneList(value: unknown[], place: Place, shape: ListShape): unknown[] {
  return value
    .map((element) => {
      const step = elementStep(shape, element);
      return step === undefined ? element : pruneChild(element, step, place, false, shape.item);
    })
    .filter((element) => element !== removed);
}
