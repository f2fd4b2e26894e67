import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import { OwnerGraph } from "./graph.ts";
import { judge } from "./verdict.ts";

const owner = (uid: string, blockOwnerDeletion = true) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: uid,
  uid,
  blockOwnerDeletion,
});
const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function verdictOf(uid: string, objects: Record<string, ObjectMeta>) {
  const graph = new OwnerGraph();
  for (const [id, metadata] of Object.entries(objects))
    graph.set(resources.configmaps, { namespace: "n", name: id, uid: id, ...metadata });
  const node = graph.get(uid);
  if (!node) throw new Error("no node");
  return judge(node, { graph, isUnknownKind: ({ kind }) => kind === "Alien" });
}

t.test("judge()", async (t) => {
  const rows: { name: string; objects: Record<string, ObjectMeta>; expected: object }[] = [
    { name: "an object of its own stays", objects: { a: {} }, expected: { do: "nothing" } },
    {
      name: "its owner is there",
      objects: { a: { ownerReferences: [owner("b")] }, b: {} },
      expected: { do: "nothing" },
    },
    {
      name: "its owner is gone",
      objects: { a: { ownerReferences: [owner("b")] } },
      expected: { do: "delete", policy: "Background" },
    },
    {
      name: "one of two owners is gone",
      objects: { a: { ownerReferences: [owner("b"), owner("c")] }, c: {} },
      expected: { do: "drop-owners", uids: ["b"] },
    },
    {
      name: "an owner of a kind nobody serves counts as there",
      objects: { a: { ownerReferences: [{ ...owner("b"), kind: "Alien" }] } },
      expected: { do: "nothing" },
    },
    {
      name: "an owner in another namespace is none",
      objects: { a: { ownerReferences: [owner("b")] }, b: { namespace: "other" } },
      expected: { do: "delete", policy: "Background" },
    },
    {
      name: "its owner waits for it",
      objects: { a: { ownerReferences: [owner("b")] }, b: { ...going, finalizers: ["foregroundDeletion"] } },
      expected: { do: "delete", policy: "Background" },
    },
    {
      name: "its owner waits for it and it has dependents",
      objects: {
        a: { ownerReferences: [owner("b")] },
        b: { ...going, finalizers: ["foregroundDeletion"] },
        c: { ownerReferences: [owner("a")] },
      },
      expected: { do: "delete", policy: "Foreground" },
    },
    {
      name: "it waits for a dependent that blocks",
      objects: {
        a: { ...going, finalizers: ["foregroundDeletion"] },
        b: { ownerReferences: [owner("a")] },
        c: { ownerReferences: [owner("a", false)] },
      },
      expected: { do: "finish-foreground", blocking: ["b"] },
    },
    {
      name: "it leaves its dependents behind",
      objects: { a: { ...going, finalizers: ["orphan"] }, b: { ownerReferences: [owner("a")] } },
      expected: { do: "finish-orphan", dependents: ["b"] },
    },
    {
      name: "two that own each other stay",
      objects: { a: { ownerReferences: [owner("b")] }, b: { ownerReferences: [owner("a")] } },
      expected: { do: "nothing" },
    },
    {
      name: "a cycle that is deleted in the foreground comes undone",
      objects: {
        a: { ...going, finalizers: ["foregroundDeletion"], ownerReferences: [owner("b")] },
        b: { ownerReferences: [owner("a")] },
      },
      expected: { do: "finish-foreground", blocking: ["b"] },
    },
    {
      name: "two that wait for each other do not wait for ever",
      objects: {
        a: { ...going, finalizers: ["foregroundDeletion"], ownerReferences: [owner("b")] },
        b: { ...going, finalizers: ["foregroundDeletion"], ownerReferences: [owner("a")] },
      },
      expected: { do: "finish-foreground", blocking: [] },
    },
  ];
  for (const row of rows) t.same(verdictOf("a", row.objects), row.expected, row.name);
});

t.test("OwnerGraph forgets dependents that let go", async (t) => {
  const graph = new OwnerGraph();
  graph.set(resources.pods, { uid: "p", ownerReferences: [owner("o")] });
  t.same([...graph.dependentsOf("o")], ["p"]);
  graph.set(resources.pods, { uid: "p" });
  t.same([...graph.dependentsOf("o")], []);
});
