import t from "tap";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { encodeObject } from "./encoding.ts";
import { Entry } from "./entry.ts";
import { ObjectKeeper } from "./object-keeper.ts";

function entries(keeper: ObjectKeeper, count: number, from = 0): Entry[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `o${from + index}`;
    const object: KubeObject = { kind: "K", apiVersion: "v1", metadata: { name } };
    return new Entry(name, encodeObject(object), { revision: 2, createRevision: 2 }, object, keeper);
  });
}

const read = (all: readonly Entry[]) => all.map((entry) => entry.object);
const held = (all: readonly Entry[]) => all.filter((entry) => entry.hasObject).length;

t.test("ObjectKeeper lets go of what nobody reads", async (t) => {
  const all = entries(new ObjectKeeper(), 1000);
  t.equal(held(all), 32);
  t.ok(all.at(-1)?.hasObject, "the newest stay");
  t.equal(all[0]?.object.metadata.name, "o0", "what was let go of is decoded again");
  t.equal(all[0]?.object, all[0]?.object, "and shared by those who read it");
});

t.test("ObjectKeeper keeps what is read, however much else comes", async (t) => {
  const keeper = new ObjectKeeper();
  const wanted = entries(keeper, 20);
  const others: Entry[] = [];
  for (let n = 0; n < 1000; n++) {
    read(wanted);
    others.push(...entries(keeper, 1, 100 + n));
  }
  t.equal(held(wanted), 20);
  t.ok(held(others) <= 32);
});

t.test("ObjectKeeper makes room for all that is read again and again, and takes it back", async (t) => {
  const keeper = new ObjectKeeper();
  const all = entries(keeper, 500);
  for (let round = 0; round < 2; round++) read(all);
  t.equal(held(all), 500);
  const later = entries(keeper, 3000, 500);
  t.ok(held(all) + held(later) <= 64);
});

t.test("Entry.glance is no reason to keep an object", async (t) => {
  const [first] = entries(new ObjectKeeper(), 100);
  t.equal(first?.hasObject, false);
  t.equal(first?.glance.metadata.name, "o0");
  t.equal(first?.hasObject, false);
});
