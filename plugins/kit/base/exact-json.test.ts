import fc from "fast-check";
import t from "tap";
import { parseJson } from "./exact-json.ts";

t.test("parseJson() and JSON.stringify() keep every integer of 64 bits", async (t) => {
  const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const property = fc.property(fc.array(fc.tuple(fc.string(), integer)), (rows) => {
    const text = `[${rows.map(([word, number]) => `{"a":${JSON.stringify(word)},"b":${number}}`).join(",")}]`;
    return JSON.stringify(parseJson(text)) === text;
  });
  fc.assert(property, { numRuns: 1000 });
  t.pass();
});

t.test("parseJson() is JSON.parse() for everything else", async (t) => {
  const property = fc.property(fc.jsonValue({ depthSize: "medium" }), (value) => {
    const text = JSON.stringify({ value, padding: "1234567890123456" });
    t.same(parseJson(text), JSON.parse(text));
  });
  fc.assert(property, { numRuns: 300 });
  for (const text of [
    '{"a":9007199254740993.5,"b":1e30}',
    '{"a":123456789012345678901234567890}',
    '{"a":"9007199254740993"}',
  ])
    t.same(parseJson(text), JSON.parse(text), text);
  t.ok(Object.hasOwn(parseJson('{"__proto__":{"a":9007199254740993}}') as object, "__proto__"));
  t.throws(() => parseJson('{"a":9007199254740993'), SyntaxError);
});
