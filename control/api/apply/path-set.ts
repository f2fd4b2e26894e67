// PathSet is a set of field paths, the shape behind `fieldsV1`. A step of a path is `f:name`, `k:{"key":"value"}`, `v:value`.

import { parseJson } from "../../../plugins/kit/base/exact-json.ts";

/** Never changed once it is part of a set that was handed out: sets share what they have in common. */
export interface Node {
  isMember: boolean;
  below: Map<string, Node> | undefined;
}

/** A path that ends here. */
export const leafNode: Node = { isMember: true, below: undefined };

const fieldSteps = new Map<string, string>();
const mostFieldSteps = 4096;

/** `f:name`. Those that come again and again are one text, which maps find much faster than one put together each time. */
export function fieldStep(name: string): string {
  let step = fieldSteps.get(name);
  if (step === undefined) {
    step = `f:${name}`;
    if (fieldSteps.size < mostFieldSteps) fieldSteps.set(name, step);
  }
  return step;
}

export type FieldsV1 = { [step: string]: FieldsV1 };

export class PathSet {
  readonly #root: Node;

  constructor(root: Node = { isMember: false, below: undefined }) {
    this.#root = root;
  }

  get root(): Node {
    return this.#root;
  }

  get isEmpty(): boolean {
    return isBare(this.#root);
  }

  has(path: readonly string[]): boolean {
    return this.#find(path)?.isMember === true;
  }

  #find(path: readonly string[]): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const step of path) {
      node = node.below?.get(step);
      if (!node) return undefined;
    }
    return node;
  }

  union(other: PathSet): PathSet {
    return new PathSet(unite(this.#root, other.#root));
  }

  minus(other: PathSet): PathSet {
    return new PathSet(subtract(this.#root, other.#root));
  }

  /** Without the paths of the other set and everything below them. */
  minusBelow(other: PathSet): PathSet {
    return new PathSet(subtractBelow(this.#root, other.#root));
  }

  and(other: PathSet): PathSet {
    return new PathSet(intersect(this.#root, other.#root));
  }

  equals(other: PathSet): boolean {
    return sameNode(this.#root, other.#root);
  }

  *paths(): Generator<string[]> {
    yield* walk(this.#root, []);
  }

  toFields(): FieldsV1 {
    return fieldsOf(this.#root) ?? {};
  }

  static from(fields: unknown): PathSet {
    return new PathSet(nodeOf(fields, 0));
  }
}

const deepest = 200;

function isBare(node: Node): boolean {
  if (node.isMember) return false;
  for (const next of node.below?.values() ?? []) if (!isBare(next)) return false;
  return true;
}

function unite(a: Node, b: Node): Node {
  const below = new Map(a.below ?? []);
  for (const [step, node] of b.below ?? []) {
    const known = below.get(step);
    below.set(step, known ? unite(known, node) : node);
  }
  return { isMember: a.isMember || b.isMember, below: below.size > 0 ? below : undefined };
}

function subtract(a: Node, b: Node): Node {
  const below = new Map<string, Node>();
  for (const [step, node] of a.below ?? []) {
    const other = b.below?.get(step);
    const rest = other ? subtract(node, other) : node;
    if (!isBare(rest)) below.set(step, rest);
  }
  return { isMember: a.isMember && !b.isMember, below: below.size > 0 ? below : undefined };
}

function subtractBelow(a: Node, b: Node): Node {
  if (b.isMember) return { isMember: false, below: undefined };
  const below = new Map<string, Node>();
  for (const [step, node] of a.below ?? []) {
    const other = b.below?.get(step);
    const rest = other ? subtractBelow(node, other) : node;
    if (!isBare(rest)) below.set(step, rest);
  }
  return { isMember: a.isMember, below: below.size > 0 ? below : undefined };
}

function intersect(a: Node, b: Node): Node {
  const below = new Map<string, Node>();
  for (const [step, node] of a.below ?? []) {
    const other = b.below?.get(step);
    if (!other) continue;
    const shared = intersect(node, other);
    if (!isBare(shared)) below.set(step, shared);
  }
  return { isMember: a.isMember && b.isMember, below: below.size > 0 ? below : undefined };
}

function sameNode(a: Node, b: Node): boolean {
  if (a.isMember !== b.isMember || (a.below?.size ?? 0) !== (b.below?.size ?? 0)) return false;
  for (const [step, node] of a.below ?? []) {
    const other = b.below?.get(step);
    if (!other || !sameNode(node, other)) return false;
  }
  return true;
}

function* walk(node: Node, path: string[]): Generator<string[]> {
  if (node.isMember && path.length > 0) yield path;
  for (const [step, next] of node.below ?? []) yield* walk(next, [...path, step]);
}

/** Undefined where nothing below is a member. */
function fieldsOf(node: Node): FieldsV1 | undefined {
  const { isMember, below } = node;
  if (!below) return isMember ? {} : undefined;
  let fields: FieldsV1 | undefined;
  for (const step of [...below.keys()].sort()) {
    const next = fieldsOf(below.get(step) as Node);
    if (!next) continue;
    fields ??= isMember ? { ".": {} } : {};
    fields[step] = next;
  }
  return fields ?? (isMember ? {} : undefined);
}

function nodeOf(fields: unknown, depth: number): Node {
  if (typeof fields !== "object" || fields === null || depth > deepest) return { isMember: true, below: undefined };
  const entries = Object.entries(fields);
  if (entries.length === 0) return { isMember: depth > 0, below: undefined };
  const below = new Map<string, Node>();
  let isMember = false;
  for (const [step, next] of entries) {
    if (step === ".") isMember = true;
    else below.set(step, nodeOf(next, depth + 1));
  }
  return { isMember, below: below.size > 0 ? below : undefined };
}

/** `.spec.containers[name="web"].image`, as upstream writes paths. */
export function pathText(path: readonly string[]): string {
  return path
    .map((step) => {
      const value = step.slice(2);
      if (step.startsWith("f:")) return `.${value}`;
      if (step.startsWith("v:")) return `[=${value}]`;
      const keys = parseJson(value) as Record<string, unknown>;
      return `[${Object.entries(keys)
        .map(([key, one]) => `${key}=${JSON.stringify(one)}`)
        .join(",")}]`;
    })
    .join("");
}
