// JSON patch (RFC 6902). All operations succeed, or a Fault `invalid` names the one that did not; the document is never changed.

import { Fault } from "../fault.ts";
import { cloneJson, equalJson, getOwn, isObject, type JsonObject, setOwn } from "./json-tree.ts";

// Upstream's limits: so many operations, and so many characters copied by `copy` in all.
const mostOperations = 10_000;
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
  const value = () => {
    if (!Object.hasOwn(operation, "value")) throw fail(`"${op}" needs a value`);
    return operation["value"];
  };
  switch (op) {
    case "add":
      return add(state, path, cloneJson(value()), fail);
    case "remove":
      return void remove(state, path, fail);
    case "replace":
      read(state, path, fail);
      return write(state, path, cloneJson(value()), fail);
    case "test":
      if (!equalJson(peek(state, path), value() ?? undefined) && !equalJson(peek(state, path), value()))
        throw fail(`testing value ${show(path)} failed`);
      return;
    case "copy": {
      const from = pointer(operation, "from", fail);
      if (from.length > 0) parentOf(state, from, fail);
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
  if (Array.isArray(parent)) return parent[elementIndex(part, parent.length - 1) ?? -1];
  return isObject(parent) ? getOwn(parent, part) : undefined;
}

function read(state: State, path: readonly string[], fail: Fail): unknown {
  const found = peek(state, path);
  if (found === undefined) throw fail(`there is nothing at ${show(path)}`);
  return found;
}

/** An index of at most `last`, written without sign or leading zeros. */
function elementIndex(part: string, last: number): number | undefined {
  if (!/^(?:0|[1-9]\d{0,8})$/.test(part)) return undefined;
  const index = Number(part);
  return index <= last ? index : undefined;
}

function parentOf(state: State, path: readonly string[], fail: Fail): { parent: JsonObject | unknown[]; last: string } {
  const parent = peek(state, path.slice(0, -1));
  if (!Array.isArray(parent) && !isObject(parent)) throw fail(`there is no object or list for ${show(path)}`);
  return { parent, last: path.at(-1) ?? "" };
}

function add(state: State, path: readonly string[], value: unknown, fail: Fail): void {
  if (path.length === 0) return void (state.root = value);
  const { parent, last } = parentOf(state, path, fail);
  if (!Array.isArray(parent)) return setOwn(parent, last, value);
  const index = last === "-" ? parent.length : elementIndex(last, parent.length);
  if (index === undefined) throw fail(`${show(path)} is outside of the list`);
  parent.splice(index, 0, value);
}

/** Replaces what is known to be there. */
function write(state: State, path: readonly string[], value: unknown, fail: Fail): void {
  if (path.length === 0) return void (state.root = value);
  const { parent, last } = parentOf(state, path, fail);
  if (Array.isArray(parent)) parent[Number(last)] = value;
  else setOwn(parent, last, value);
}

function remove(state: State, path: readonly string[], fail: Fail): unknown {
  const removed = read(state, path, fail);
  if (path.length === 0) throw fail("the whole document cannot be removed");
  const { parent, last } = parentOf(state, path, fail);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return removed;
}
