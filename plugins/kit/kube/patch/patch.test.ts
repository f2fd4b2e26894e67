import fc from "fast-check";
import t from "tap";
import { container, podWith, strategicCases } from "../../../../test/fixtures/strategic-cases.ts";
import { isFault } from "../../base/fault.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { applyStrategicPatch } from "./strategic-patch.ts";

const parse = (text: string): unknown => JSON.parse(text);

const jsonPatches: [name: string, document: unknown, patch: unknown, expected: unknown][] = [
  ["adds a member", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
  ["inserts into a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
  ["appends with a dash", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
  ["removes", { a: { b: 1, c: 2 } }, [{ op: "remove", path: "/a/b" }], { a: { c: 2 } }],
  ["removes an element", { a: [1, 2] }, [{ op: "remove", path: "/a/0" }], { a: [2] }],
  ["replaces", { a: 1 }, [{ op: "replace", path: "/a", value: { b: 2 } }], { a: { b: 2 } }],
  ["replaces the whole", { a: 1 }, [{ op: "replace", path: "", value: [1] }], [1]],
  [
    "unescapes pointers",
    { "a/b": { "~c": 1 } },
    [{ op: "replace", path: "/a~1b/~0c", value: 2 }],
    { "a/b": { "~c": 2 } },
  ],
  ["moves", { a: { b: 1 }, c: {} }, [{ op: "move", from: "/a/b", path: "/c/d" }], { a: {}, c: { d: 1 } }],
  [
    "copies deeply",
    { a: { b: [1] } },
    [
      { op: "copy", from: "/a", path: "/c" },
      { op: "add", path: "/c/b/-", value: 2 },
    ],
    { a: { b: [1] }, c: { b: [1, 2] } },
  ],
  ["tests by value", { a: { b: 1, c: 2 } }, [{ op: "test", path: "/a", value: { c: 2, b: 1 } }], { a: { b: 1, c: 2 } }],
  ["tests a missing member as null", { a: 1 }, [{ op: "test", path: "/b", value: null }], { a: 1 }],
  ["sets null", { a: 1 }, [{ op: "add", path: "/a", value: null }], { a: null }],
  // What follows is how kube-apiserver v1.37 takes it.
  ["adds null where the value is left out", { a: 1 }, [{ op: "add", path: "/b" }], { a: 1, b: null }],
  ["replaces a member that is not there", { a: 1 }, [{ op: "replace", path: "/b", value: 2 }], { a: 1, b: 2 }],
  ["tests a missing member without a value", { a: 1 }, [{ op: "test", path: "/b" }], { a: 1 }],
  ["appends at index -1", { a: [1] }, [{ op: "add", path: "/a/-1", value: 2 }], { a: [1, 2] }],
  ["inserts at index -2", { a: [1] }, [{ op: "add", path: "/a/-2", value: 0 }], { a: [0, 1] }],
  ["replaces the last element", { a: [1, 2] }, [{ op: "replace", path: "/a/-1", value: 3 }], { a: [1, 3] }],
  ["removes the last element", { a: [1, 2] }, [{ op: "remove", path: "/a/-1" }], { a: [1] }],
  ["walks through the last element", { a: [{}] }, [{ op: "add", path: "/a/-1/b", value: 1 }], { a: [{ b: 1 }] }],
  ["reads zeros before an index", { a: [1, 2] }, [{ op: "remove", path: "/a/01" }], { a: [1] }],
  ["removes at index 00", { a: [1, 2] }, [{ op: "remove", path: "/a/00" }], { a: [2] }],
];
for (const [name, document, patch, expected] of jsonPatches) {
  t.test(`applyJsonPatch() ${name}`, async (t) => {
    const before = structuredClone(document);
    t.same(applyJsonPatch(document, patch), expected);
    t.same(document, before, "the document is not changed");
  });
}

const badJsonPatches: [name: string, patch: unknown][] = [
  ["not a list", {}],
  ["an operation that is not an object", [1]],
  ["an unknown operation", [{ op: "increment", path: "/a" }]],
  ["no path", [{ op: "remove" }]],
  ["a path without slash", [{ op: "remove", path: "a" }]],
  ["a missing parent", [{ op: "add", path: "/x/y", value: 1 }]],
  ["a missing element", [{ op: "replace", path: "/list/1", value: 1 }]],
  ["an index before the first", [{ op: "replace", path: "/list/-2", value: 1 }]],
  ["adding the whole", [{ op: "add", path: "", value: {} }]],
  ["replacing the whole by a scalar", [{ op: "replace", path: "", value: 1 }]],
  ["removing what is not there", [{ op: "remove", path: "/x" }]],
  ["an index outside", [{ op: "add", path: "/list/7", value: 1 }]],
  ["an index that is no number", [{ op: "remove", path: "/list/0x0" }]],
  ["a test outside of a list", [{ op: "test", path: "/list/1", value: null }]],
  ["a failed test", [{ op: "test", path: "/a", value: 2 }]],
  ["a move into itself", [{ op: "move", from: "/deep", path: "/deep/er" }]],
  ["an inherited member", [{ op: "move", from: "/constructor", path: "/x" }]],
  ["reaching the prototype", [{ op: "add", path: "/__proto__/polluted", value: 1 }]],
  ["too many operations", Array.from({ length: 10_001 }, () => ({ op: "test", path: "/a", value: 1 }))],
  [
    "growth by copying",
    [
      { op: "add", path: "/big", value: "x".repeat(1000) },
      ...Array.from({ length: 30 }, (_, i) => ({ op: "copy", from: "", path: `/c${i}` })),
    ],
  ],
];
for (const [name, patch] of badJsonPatches) {
  t.test(`applyJsonPatch() refuses ${name}`, async (t) => {
    t.throws(() => applyJsonPatch({ a: 1, list: [1], deep: {} }, patch), { code: "invalid" });
    t.equal(({} as { polluted?: unknown }).polluted, undefined);
  });
}

const mergePatches: [name: string, document: unknown, patch: unknown, expected: unknown][] = [
  ["merges members", { a: { b: 1, c: 2 } }, { a: { c: 3 } }, { a: { b: 1, c: 3 } }],
  ["deletes with null", { a: 1, b: 2 }, { a: null }, { b: 2 }],
  ["replaces lists", { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ["drops nulls in new objects", {}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
  ["replaces a scalar by an object", { a: 1 }, { a: { b: 1 } }, { a: { b: 1 } }],
  ["replaces everything by a scalar", { a: 1 }, 5, 5],
  ["keeps nulls inside of lists", {}, { a: [null] }, { a: [null] }],
];
for (const [name, document, patch, expected] of mergePatches) {
  t.test(`applyMergePatch() ${name}`, async (t) => t.same(applyMergePatch(document, patch), expected));
}

t.test("no patch type pollutes prototypes or loses a member named __proto__", async (t) => {
  const evil = parse('{"__proto__":{"polluted":1},"spec":{"__proto__":{"polluted":1}}}');
  for (const result of [applyMergePatch({ spec: {} }, evil), applyStrategicPatch({ spec: {} }, evil, "v1/Pod")]) {
    t.equal(({} as { polluted?: unknown }).polluted, undefined);
    t.equal((result as { polluted?: unknown }).polluted, undefined);
    t.ok(Object.hasOwn(result as object, "__proto__"));
  }
});

t.test("no patch type overflows the stack", async (t) => {
  const deep = parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
  t.throws(() => applyMergePatch({}, deep), { code: "invalid" });
  t.throws(() => applyMergePatch(deep, {}), { code: "invalid" });
  t.throws(() => applyStrategicPatch(deep, deep, "v1/Pod"), { code: "invalid" });
  t.throws(() => applyJsonPatch({}, [{ op: "add", path: "/a", value: deep }]), { code: "invalid" });
});

for (const [name, kind, document, patch, expected] of strategicCases) {
  t.test(`applyStrategicPatch() ${name}`, async (t) => {
    const before = structuredClone([document, patch]);
    t.strictSame(applyStrategicPatch(document, patch, kind), expected);
    t.same([document, patch], before, "neither argument is changed");
  });
}

const badStrategic: [name: string, patch: unknown][] = [
  ["a patch that is not an object", []],
  ["an unknown directive", { spec: { $patch: "burn" } }],
  ["an element without its merge key", podWith([{ image: "x" }])],
  ["a retained list that forgets a key", { spec: { $retainKeys: ["a"], b: 1 } }],
  ["a retained list of numbers", { spec: { $retainKeys: [1] } }],
  [
    "an order that contradicts the list",
    { spec: { "$setElementOrder/containers": [{ name: "a" }], containers: [container("b")] } },
  ],
  ["an order that is no list", { spec: { "$setElementOrder/containers": 1 } }],
  ["a deletion that is no list", { metadata: { "$deleteFromPrimitiveList/finalizers": "a" } }],
];
for (const [name, patch] of badStrategic) {
  t.test(`applyStrategicPatch() refuses ${name}`, async (t) => {
    t.throws(
      () => applyStrategicPatch({ metadata: { finalizers: ["a"] }, ...podWith([container("a")]) }, patch, "v1/Pod"),
      { code: "invalid" },
    );
  });
}

const json = fc.jsonValue({ maxDepth: 4 });

t.test("applyMergePatch() applied twice changes nothing more", async () => {
  fc.assert(
    fc.property(json, json, (document, patch) => {
      const once = applyMergePatch(document, patch);
      return JSON.stringify(sortKeys(applyMergePatch(once, patch))) === JSON.stringify(sortKeys(once));
    }),
  );
});

t.test("applyJsonPatch() add then remove gives the document back", async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), json, (document, value) => {
      const key = "\u0000fresh";
      const added = applyJsonPatch(document, [{ op: "add", path: `/${key}`, value }]);
      const back = applyJsonPatch(added, [{ op: "remove", path: `/${key}` }]);
      return JSON.stringify(sortKeys(back)) === JSON.stringify(sortKeys(document));
    }),
  );
});

const names = fc.uniqueArray(fc.constantFrom<string[]>("a", "b", "c", "d", "e"), { maxLength: 5 });

t.test("applyStrategicPatch() keeps every container once, and the patch's order", async () => {
  fc.assert(
    fc.property(names, names, (have, want) => {
      const result = applyStrategicPatch(
        podWith(have.map((name) => container(name))),
        podWith(want.map((name) => container(name, { image: "x" }))),
        "v1/Pod",
      ) as { spec: { containers: { name: string }[] } };
      const got = result.spec.containers.map(({ name }) => name);
      const isComplete =
        new Set(got).size === got.length &&
        [...have, ...want].every((name) => got.includes(name)) &&
        got.length === new Set([...have, ...want]).size;
      const wanted = got.filter((name) => want.includes(name));
      const others = got.filter((name) => !want.includes(name));
      return (
        isComplete &&
        wanted.join() === want.join() &&
        others.join() === have.filter((name) => !want.includes(name)).join()
      );
    }),
  );
});

t.test("every patch type answers any input with a document or a Fault", async () => {
  const directives = fc.constantFrom(
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "containers",
    "finalizers",
    "metadata",
    "spec",
    "name",
  );
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom("delete", "replace", "merge", null, 1, "a"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(directives, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  const operations = fc.array(
    fc.record({
      op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
      path: fc.constantFrom("", "/spec", "/spec/containers/0", "/metadata/-", "/a/b/c"),
      from: fc.constantFrom("", "/spec", "/metadata"),
      value: tree,
    }),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(tree, tree, operations, (document, patch, list) => {
      for (const attempt of [
        () => applyStrategicPatch(document, patch, "v1/Pod"),
        () => applyMergePatch(document, patch),
        () => applyJsonPatch(document, list),
      ]) {
        try {
          attempt();
        } catch (error) {
          if (!isFault(error, "invalid")) throw error;
        }
      }
    }),
    { numRuns: 300 },
  );
});

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sortKeys(member)]);
}

t.test("applyStrategicPatch() takes a replaced list as it stands, also where a key comes twice", async (t) => {
  const addresses = [
    { type: "InternalIP", address: "192.0.2.2" },
    { type: "InternalIP", address: "fd00::2" },
    { type: "Hostname", address: "node" },
  ];
  const patch = { status: { addresses: [...addresses, { $patch: "replace" }] } };
  const before = { status: { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] } };
  t.same(applyStrategicPatch(before, patch, "v1/Node"), { status: { addresses } });
});
