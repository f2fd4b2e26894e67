import t from "tap";
import { Remembered } from "./remembered.ts";

t.test("Remembered drops entries that were not set for a while, and the oldest of too many", async (t) => {
  const known = new Remembered<number>({ keepMs: 1000, most: 3 });
  known.set("a", 1, 0);
  known.set("b", 2, 500);
  known.set("a", 3, 900);
  known.set("c", 4, 1499);
  t.same(
    ["a", "b", "c"].map((key) => known.get(key)),
    [3, 2, 4],
  );
  known.set("d", 5, 1500);
  t.same(
    ["a", "b", "c", "d"].map((key) => known.get(key)),
    [3, undefined, 4, 5],
    "b was not set for a second",
  );
  known.set("e", 6, 1600);
  t.same(
    ["a", "c", "d", "e"].map((key) => known.get(key)),
    [undefined, 4, 5, 6],
    "a is the oldest of four",
  );
  known.set("f", 7, 9000);
  t.equal(known.size, 1);
});
