import fc from "fast-check";
import t from "tap";
import { inexactIntegers, inexactPath } from "./inexact-integers.ts";

const found = (text: string) =>
  inexactIntegers(text, JSON.parse(text)).map((each) => `${inexactPath(each)}=${each.source}`);

t.test("inexactIntegers() finds what JSON.parse() rounds", async (t) => {
  t.same(found('{"a":9007199254740993}'), ["a=9007199254740993"]);
  t.same(found('{"a":{"b":[1,{"c":-9223372036854775807}]}}'), ["a.b[1].c=-9223372036854775807"]);
  t.same(found("[9223372036854775807]"), ["[0]=9223372036854775807"]);
});

t.test("inexactIntegers() leaves alone what is exact, no integer, a string, or larger than 64 bits", async (t) => {
  for (const text of [
    '{"a":9007199254740992,"b":9007199254740994,"c":-9223372036854775808}',
    '{"a":"9007199254740993","9007199254740993":1}',
    '{"a":9007199254740993.5,"b":0.12345678901234567}',
    '{"a":123456789012345678901234567890}',
    '{"a":1e300,"b":12345678901234e10}',
  ])
    t.same(found(text), [], text);
});

t.test("inexactIntegers() finds exactly the integers that do not come out as they went in", async (t) => {
  const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const property = fc.property(fc.array(fc.tuple(fc.string(), integer)), (rows) => {
    const text = `[${rows.map(([word, number]) => `${JSON.stringify(word)},${number}`).join(",")}]`;
    const rounded = rows.map(([, number]) => number).filter((number) => BigInt(Number(number)) !== number);
    const sources = inexactIntegers(text, JSON.parse(text)).map(({ source }) => BigInt(source));
    return rounded.every((number) => sources.some((source) => Number(source) === Number(number)));
  });
  fc.assert(property, { numRuns: 2000 });
  t.pass();
});

t.test("inexactIntegers() sees a long number wherever it begins", async (t) => {
  for (let before = 0; before < 40; before++)
    t.equal(found(`{"a":"${"x1".repeat(before).slice(before)}","b":9007199254740993}`).length, 1);
});
