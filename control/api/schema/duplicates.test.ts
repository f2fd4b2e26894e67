// Keys that stand twice.

import fc from "fast-check";
import t from "tap";
import { duplicateKeys } from "./duplicates.ts";

t.test("duplicateKeys() names every key that stands twice in one object", async (t) => {
  t.same(duplicateKeys('{"a":1,"b":{"c":1,"c":[{"x":1,"x":2}]},"a":"q\\"{"}'), ["b.c", "b.c[0].x", "a"]);
  t.same(duplicateKeys('{"a\\u0062":1, "ab" : [ ] , "c\\\\":{}, "c\\\\":null}'), ["ab", "c\\"]);
  t.same(duplicateKeys(""), []);
});

t.test("duplicateKeys() finds none in what JSON.stringify writes, however spaced", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 2), (value, indent) => {
      t.equal(duplicateKeys(JSON.stringify(value, null, indent)).length, 0);
    }),
  );
});
