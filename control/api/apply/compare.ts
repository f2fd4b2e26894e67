// Compares two states of an object by its shape: which fields are new, changed or gone.

import { deepEqual } from "../../machinery/equal.ts";
import { fieldStep, leafNode, type Node, PathSet } from "./path-set.ts";
import { elementStep } from "./shape.ts";
import { leaf, type ListShape, type ObjectShape, type Shape } from "../../resources/shape.ts";

export interface Comparison {
  /** New fields and fields with another value. */
  readonly changed: PathSet;
  readonly removed: PathSet;
}

type Json = Record<string, unknown>;

/** What one part of an object adds to both sets: nodes to hang below its step. */
interface Difference {
  readonly changed: Node | undefined;
  readonly removed: Node | undefined;
}

const same: Difference = { changed: undefined, removed: undefined };
const allChanged: Difference = { changed: leafNode, removed: undefined };
const allRemoved: Difference = { changed: undefined, removed: leafNode };

/** Either side may be undefined. */
export function compare(before: unknown, after: unknown, shape: Shape): Comparison {
  const { changed, removed } = differenceOf(before, after, shape, true);
  return { changed: new PathSet(changed), removed: new PathSet(removed) };
}

/** Every field that the value has: its leaves, empty objects, and list elements; an empty list of elements has none. */
export function fieldsIn(value: unknown, shape: Shape): PathSet {
  return new PathSet(fieldsBelow(value, shape, true));
}

function fieldsBelow(value: unknown, shape: Shape, isRoot = false): Node | undefined {
  if (value === undefined) return undefined;
  const parts = new Parts();
  if (shape.is === "object" && !shape.atomic && isObject(value) && Object.keys(value).length > 0) {
    for (const key of Object.keys(value)) {
      const below = fieldsBelow(value[key], shape.child(key));
      // The key of a map is owned itself, a declared field by what is below it.
      const isMember = below?.isMember === true || (!isRoot && !shape.hasField(key));
      parts.add(fieldStep(key), below && { isMember, below: below.below });
    }
  } else if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(value)) {
    for (const [step, element] of byStep(value, shape)) {
      const isWhole = shape.by === "set" || element instanceof Repeated;
      const below = isWhole ? undefined : fieldsBelow(element, shape.item);
      parts.add(step, below ? { isMember: true, below: below.below } : leafNode);
    }
  } else return isRoot ? undefined : leafNode;
  return parts.node(false);
}

function differenceOf(before: unknown, after: unknown, shape: Shape, isRoot = false): Difference {
  if (before === undefined && after === undefined) return same;
  const sample = after ?? before;
  const isParted =
    shape.is === "object"
      ? !shape.atomic && isObject(sample)
      : shape.is === "list" && shape.by !== "atomic" && Array.isArray(sample);
  if (!isParted || bothEmpty(before, after)) {
    if (after === undefined) return allRemoved;
    return before === undefined || !deepEqual(before, after) ? allChanged : same;
  }
  const [changed, removed] = [new Parts(), new Parts()];
  if (shape.is === "object") compareObjects(before, after, shape, changed, removed, isRoot);
  else compareLists(before, after, shape as ListShape, changed, removed);
  return {
    changed: changed.node(before === undefined && !isRoot),
    removed: removed.node(after === undefined && !isRoot),
  };
}

function compareObjects(
  before: unknown,
  after: unknown,
  shape: ObjectShape,
  changed: Parts,
  removed: Parts,
  isRoot: boolean,
): void {
  const left = isObject(before) ? before : {};
  const right = isObject(after) ? after : {};
  const note = (key: string, a: unknown, b: unknown) => {
    // Like the whole object, its metadata as such is nobody's.
    const difference = differenceOf(a, b, shape.child(key), isRoot && key === "metadata");
    if (difference === same) return;
    changed.add(fieldStep(key), difference.changed);
    removed.add(fieldStep(key), difference.removed);
  };
  for (const key of Object.keys(left)) note(key, left[key], Object.hasOwn(right, key) ? right[key] : undefined);
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key)) note(key, undefined, right[key]);
}

function compareLists(before: unknown, after: unknown, shape: ListShape, changed: Parts, removed: Parts): void {
  const left = byStep(before, shape);
  const right = byStep(after, shape);
  const item = shape.by === "set" ? leaf : shape.item;
  const note = (step: string, a: unknown, b: unknown) => {
    const difference = compareElements(a, b, item);
    changed.add(step, difference.changed);
    removed.add(step, difference.removed);
  };
  for (const [step, element] of left) note(step, element, right.get(step));
  for (const [step, element] of right) if (!left.has(step)) note(step, undefined, element);
}

/** Elements that share a step are owned together, as one. */
function compareElements(before: unknown, after: unknown, shape: Shape): Difference {
  if (before instanceof Repeated && after instanceof Repeated)
    return deepEqual(before.elements, after.elements) ? same : allChanged;
  if (before instanceof Repeated) return { changed: differenceOf(undefined, after, shape).changed, removed: leafNode };
  if (after instanceof Repeated) return { changed: leafNode, removed: differenceOf(before, undefined, shape).removed };
  return differenceOf(before, after, shape);
}

/** Gathers what hangs below one place; nothing is made where nothing does. */
class Parts {
  #below: Map<string, Node> | undefined;

  add(step: string, node: Node | undefined): void {
    if (!node) return;
    this.#below ??= new Map();
    this.#below.set(step, node);
  }

  node(isMember: boolean): Node | undefined {
    if (!this.#below) return isMember ? leafNode : undefined;
    return { isMember, below: this.#below };
  }
}

/** List elements with the same step: admitted where writers may repeat a key, such as in `env`. */
export class Repeated {
  readonly elements: unknown[];

  constructor(...elements: unknown[]) {
    this.elements = elements;
  }
}

/** The elements of a list by their steps; a `Repeated` where several have the same. */
export function byStep(list: unknown, shape: ListShape): Map<string, unknown> {
  const elements = new Map<string, unknown>();
  for (const element of Array.isArray(list) ? list : []) {
    const step = elementStep(shape, element);
    if (step === undefined) continue;
    const known = elements.get(step);
    if (known instanceof Repeated) known.elements.push(element);
    else elements.set(step, elements.has(step) ? new Repeated(known, element) : element);
  }
  return elements;
}

export function bothEmpty(before: unknown, after: unknown): boolean {
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
  return isEmpty(before) && isEmpty(after);
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
