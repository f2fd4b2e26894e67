// Keys that stand twice.

import fc from "fast-check";
import t from "tap";
import { duplicateKeys } from "./duplicates.ts";

const keysIn = (text: string, most = 100) => duplicateKeys(text, text === "" ? undefined : JSON.parse(text), most);

t.test("duplicateKeys() names every key that stands twice in one object", async (t) => {
  t.same(keysIn('{"a":1,"b":{"c":1,"c":[{"x":1,"x":2}]},"a":"q\\"{"}'), ["b.c", "b.c[0].x", "a"]);
  t.same(keysIn('{"a\\u0062":1, "ab" : [ ] , "c\\\\":{}, "c\\\\":null}'), ["ab", "c\\"]);
  t.same(keysIn(""), []);
  t.same(keysIn('{"a":1,"a":2,"a":3,"b":1,"b":2,"c":1,"c":2}', 2), ["a", "b"], "each once, and the first so many");
});

t.test("duplicateKeys() finds none in what JSON.stringify writes, however spaced", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 2), (value, indent) => {
      t.equal(keysIn(JSON.stringify(value, null, indent)).length, 0);
    }),
  );
});
