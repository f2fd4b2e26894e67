// What an apply removes: the recorded cases through the API, and random objects against the definition of it, taken step by step.

import fc from "fast-check";
import t from "tap";
import { appliedCases, gadgetDefinition, gadgets, partOf, runApplied } from "../../../test/fixtures/applied.ts";
import { startApi } from "../../../test/harness/api-server.ts";
import { until } from "../../../test/harness/until.ts";
import { fieldsIn, isObject } from "./compare.ts";
import { merge } from "./merge.ts";
import { fieldStep, PathSet, type FieldsV1 } from "./path-set.ts";
import { prune } from "./prune.ts";
import { elementStep } from "./shape.ts";
import { deduced, leaf, type ListShape, type ObjectShape, type Shape } from "../../resources/shape.ts";

t.test("applyObject() leaves what kube-apiserver leaves", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", gadgetDefinition);
  await until("gadgets to be served", async () => (await api.ask("GET", gadgets)).status === 200);
  for (const each of appliedCases) t.same(partOf(await runApplied(api.ask, each)), each.left, each.name);
});

type Json = Record<string, unknown>;

const struct = (fields: Record<string, Shape>): ObjectShape => ({
  is: "object",
  atomic: false,
  child: (name) => fields[name] ?? leaf,
  hasField: (name) => Object.hasOwn(fields, name),
});
const listOf = (by: ListShape["by"], item: Shape): ListShape => ({ is: "list", by, item });
const map: ObjectShape = { is: "object", atomic: false, child: () => inner, hasField: () => false };
const inner: Shape = struct({ a: leaf, b: leaf, free: deduced, whole: { ...deduced, atomic: true } });
const root = struct({
  metadata: struct({ labels: { ...map, child: () => leaf } }),
  spec: struct({
    list: listOf(["name"], struct({ name: leaf, inner, list: listOf(["name"], struct({ name: leaf, a: leaf })) })),
    set: listOf("set", leaf),
    atomic: listOf("atomic", leaf),
    map,
    inner,
  }),
});

const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const some = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, sometimes(value)]))).map(present);
const present = (value: Json): Json => Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
const text = fc.constantFrom("x", "y");
const free = fc.dictionary(fc.constantFrom("p", "q"), fc.oneof(text, fc.dictionary(fc.constantFrom("r", "s"), text)));
const inside = some({ a: text, b: text, free, whole: free });
const named = (more: Record<string, fc.Arbitrary<unknown>>) =>
  fc.uniqueArray(
    fc.tuple(fc.constantFrom("1", "2", "3"), some(more)).map(([name, rest]): Json => ({ name, ...rest })),
    {
      selector: ({ name }) => name,
      minLength: 1,
      maxLength: 3,
    },
  );
const object: fc.Arbitrary<Json> = some({
  metadata: fc.record({ labels: fc.dictionary(fc.constantFrom("l", "m", "n"), text) }),
  spec: some({
    list: named({ inner: inside, list: named({ a: text }) }),
    set: fc.uniqueArray(fc.constantFrom("1", "2", "3"), { minLength: 1 }),
    atomic: fc.array(text),
    map: fc.dictionary(fc.constantFrom("k", "o"), inside),
    inner: inside,
  }),
});

/** Every field and element of the value, as the steps to it: those of a declared field or a value itself, never metadata as such. */
function members(value: unknown, shape: Shape, path: string[] = []): string[][] {
  if (shape.is === "object" && !shape.atomic && isObject(value))
    return Object.keys(value).flatMap((key) => {
      const at = [...path, fieldStep(key)];
      return [...(at.join() === "f:metadata" ? [] : [at]), ...members(value[key], shape.child(key), at)];
    });
  if (shape.is !== "list" || shape.by === "atomic" || !Array.isArray(value)) return [];
  return value.flatMap((element) => {
    const at = [...path, elementStep(shape, element) as string];
    return [at, ...members(element, shape.item, at)];
  });
}

const key = (path: readonly string[]) => path.join("\0");
const isWithin = (set: ReadonlySet<string>, path: readonly string[]) =>
  path.some((_, index) => set.has(key(path.slice(0, index + 1))));

/** The set with every declared field on the way to its members. */
function withFields(set: PathSet): Set<string> {
  const all = new Set<string>();
  for (const path of set.paths())
    for (let length = 1; length <= path.length; length++) {
      const part = path.slice(0, length);
      const isDeclared = part.at(-1)?.startsWith("f:") === true && isField(part);
      if (key(part) !== "f:metadata" && (length === path.length || isDeclared)) all.add(key(part));
    }
  return all;
}

function isField(path: readonly string[]): boolean {
  let shape: Shape = root;
  for (const [index, step] of path.entries()) {
    if (shape.is === "leaf") return false;
    if (shape.is === "list") shape = shape.item;
    else {
      const name = step.slice(2);
      if (index === path.length - 1) return shape.hasField(name);
      shape = shape.child(name);
    }
  }
  return false;
}

/** In three steps: remove all that was applied; keep what has an owner; remove only what is in neither and was applied. */
function removedOf(merged: Json, last: PathSet, owned: PathSet): string[] {
  const [was, is] = [withFields(last), withFields(owned)];
  const all = members(merged, root);
  const afterFirst = new Set(all.filter((path) => !isWithin(was, path)).map(key));
  const gone = new Set(all.map(key).filter((path) => !afterFirst.has(path) && !is.has(path)));
  const afterSecond = new Set(all.filter((path) => !isWithin(gone, path)).map(key));
  const third = new Set(all.map(key).filter((path) => !afterSecond.has(path) && was.has(path)));
  return all.filter((path) => isWithin(third, path)).map(key);
}

/** Objects and lists that lost everything go too, unless they are owned as such. */
const isHollow = (path: string, left: ReadonlySet<string>, before: ReadonlySet<string>) =>
  [...before].some((other) => other.startsWith(`${path}\0`)) &&
  ![...left].some((other) => other.startsWith(`${path}\0`));

t.test("prune() removes what was applied and has no owner, whole", async (t) => {
  const property = fc.property(object, object, object, object, (server, before, after, other) => {
    const last = fieldsIn(before, root);
    const owned = fieldsIn(after, root).union(fieldsIn(other, root));
    const merged = [before, other, after].reduce((sum, one) => merge(sum, one, root) as Json, server);
    const pruned = prune(merged, last, owned, root);
    const all = new Set(members(merged, root).map(key));
    const gone = new Set(removedOf(merged, last, owned));
    const left = new Set(members(pruned, root).map(key));
    return [...all].every((path) => (left.has(path) ? !gone.has(path) : gone.has(path) || isHollow(path, left, all)));
  });
  fc.assert(property, { numRuns: 3000 });
  t.pass();
});

t.test("prune() removes nothing that is still applied, and all of what nobody else has", async (t) => {
  const property = fc.property(object, object, (before, after) => {
    const merged = merge(before, after, root) as Json;
    const [last, owned] = [fieldsIn(before, root), fieldsIn(after, root)];
    const left = fieldsIn(prune(merged, last, owned, root), root);
    return left.minus(owned).isEmpty && owned.minus(left).isEmpty;
  });
  fc.assert(property, { numRuns: 3000 });
  t.pass();
});

t.test("prune() does not remove metadata that nobody owns with the labels of the applier", async (t) => {
  const from = (fields: FieldsV1) => PathSet.from(fields);
  const merged = { metadata: { labels: { a: "1" }, annotations: { q: "1" } } };
  const left = prune(merged, from({ "f:metadata": { "f:labels": { "f:a": {} } } }), new PathSet(), root);
  t.same(left, { metadata: { annotations: { q: "1" } } });
});
