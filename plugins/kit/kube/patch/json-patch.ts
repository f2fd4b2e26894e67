// JSON patch (RFC 6902), with the leniency that clients of kube-apiserver know: a member that is not there can be replaced, a value that is
// left out is null, a negative index counts from the end. All operations succeed, or a Fault `invalid` names the one that did not; the
// document is never changed.

import { Fault } from "../../base/fault.ts";
import { cloneJson, equalJson, getOwn, isObject, type JsonObject, setOwn } from "./json-tree.ts";

// Upstream's limits: so many operations, and so many characters copied by `copy` in all.
export const mostOperations = 10_000;
const mostCopied = 3 * 1024 * 1024;

/** The patched document; neither argument is changed or shared. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new Fault("invalid", "A JSON patch is a list of operations");
  if (patch.length > mostOperations)
    throw new Fault("invalid", `The JSON patch has ${patch.length} operations; at most ${mostOperations} are allowed`);
  const state: State = { root: cloneJson(document), copied: 0 };
  for (const [index, operation] of patch.entries()) apply(state, operation, index);
  return state.root;
}

interface State {
  root: unknown;
  copied: number;
}

function apply(state: State, operation: unknown, index: number): void {
  const fail = (why: string): Fault => new Fault("invalid", `Operation ${index} of the JSON patch: ${why}`);
  if (!isObject(operation)) throw fail("is not an object");
  const op = getOwn(operation, "op");
  const path = pointer(operation, "path", fail);
  const value = getOwn(operation, "value") ?? null;
  switch (op) {
    case "add":
      return add(state, path, cloneJson(value), fail);
    case "remove":
      return void remove(state, path, fail);
    case "replace":
      return replace(state, path, cloneJson(value), fail);
    case "test":
      if (path.length > 0) memberOf(state, path, fail);
      if (!equalJson(peek(state, path) ?? null, value)) throw fail(`testing value ${show(path)} failed`);
      return;
    case "copy": {
      const from = pointer(operation, "from", fail);
      memberOf(state, from, fail);
      // What is not there is copied as nothing, as upstream does.
      const copied = cloneJson(peek(state, from) ?? null);
      state.copied += JSON.stringify(copied)?.length ?? 0;
      if (state.copied > mostCopied) throw fail("copies too much");
      return add(state, path, copied, fail);
    }
    case "move": {
      const from = pointer(operation, "from", fail);
      if (path.length > from.length && from.every((part, at) => part === path[at]))
        throw fail(`cannot move ${show(from)} into itself`);
      return add(state, path, remove(state, from, fail), fail);
    }
    default:
      throw fail(`"${String(op)}" is not an operation; add, remove, replace, move, copy and test are`);
  }
}

type Fail = (why: string) => Fault;

function pointer(operation: JsonObject, member: "path" | "from", fail: Fail): string[] {
  const text = getOwn(operation, member);
  if (typeof text !== "string") throw fail(`needs a "${member}"`);
  if (text === "") return [];
  if (!text.startsWith("/")) throw fail(`"${member}" must begin with "/"`);
  const parts = text.slice(1).split("/");
  if (parts.length > 512) throw fail(`"${member}" is too long`);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const show = (path: readonly string[]) => `"${path.map((part) => `/${part}`).join("")}"`;

/** What stands at the path, or undefined. */
function peek(state: State, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, part) => child(at, part), state.root);
}

function child(parent: unknown, part: string): unknown {
  if (Array.isArray(parent)) return parent[elementIndex(part, parent.length) ?? -1];
  return isObject(parent) ? getOwn(parent, part) : undefined;
}

/** An index below the count, as Go reads one: with a sign, with leading zeros; a negative one counts from the end. */
function elementIndex(part: string, count: number): number | undefined {
  if (!/^[+-]?\d{1,15}$/.test(part)) return undefined;
  const index = Number(part);
  const at = index < 0 ? index + count : index;
  return at >= 0 && at < count ? at : undefined;
}

interface Member {
  readonly parent: JsonObject | unknown[];
  /** Of an object; it need not have it. */
  readonly key: string;
  /** Of a list; there is such an element. */
  readonly index: number;
}

/** The place of a member in an object, or of an element that is there in a list. */
function memberOf(state: State, path: readonly string[], fail: Fail): Member {
  const parent = parentOf(state, path, fail);
  const key = path.at(-1) ?? "";
  if (!Array.isArray(parent)) return { parent, key, index: -1 };
  const index = elementIndex(key, parent.length);
  if (index === undefined) throw fail(`${show(path)} is outside of the list`);
  return { parent, key, index };
}

function parentOf(state: State, path: readonly string[], fail: Fail): JsonObject | unknown[] {
  if (path.length === 0) throw fail("the whole document can only be replaced or tested");
  const parent = peek(state, path.slice(0, -1));
  if (!Array.isArray(parent) && !isObject(parent)) throw fail(`there is no object or list for ${show(path)}`);
  return parent;
}

function add(state: State, path: readonly string[], value: unknown, fail: Fail): void {
  const parent = parentOf(state, path, fail);
  const last = path.at(-1) ?? "";
  if (!Array.isArray(parent)) return setOwn(parent, last, value);
  // Behind the last element is a place too, and what a negative index counts from.
  const index = last === "-" ? parent.length : elementIndex(last, parent.length + 1);
  if (index === undefined) throw fail(`${show(path)} is outside of the list`);
  parent.splice(index, 0, value);
}

function replace(state: State, path: readonly string[], value: unknown, fail: Fail): void {
  if (path.length > 0) {
    const { parent, key, index } = memberOf(state, path, fail);
    if (Array.isArray(parent)) parent[index] = value;
    else setOwn(parent, key, value);
  } else if (isObject(value) || Array.isArray(value)) state.root = value;
  else throw fail("the whole document can only be replaced by an object or a list");
}

function remove(state: State, path: readonly string[], fail: Fail): unknown {
  const { parent, key, index } = memberOf(state, path, fail);
  if (Array.isArray(parent)) return parent.splice(index, 1)[0];
  if (!Object.hasOwn(parent, key)) throw fail(`there is nothing at ${show(path)}`);
  const removed = parent[key];
  delete parent[key];
  return removed;
}
