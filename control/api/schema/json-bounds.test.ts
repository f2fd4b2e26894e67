import t from "tap";
import fc from "fast-check";
import { boundJson, jsonBounds } from "./json-bounds.ts";

const bound = (text: string) => boundJson(Buffer.from(text));
const members = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":"${n}"`).join()}}`;

t.test("boundJson() refuses what is beyond a limit, and nothing below it", async (t) => {
  const rows: [name: string, beyond: string, below: string, says: RegExp][] = [
    ["levels", "[".repeat(1001), "[".repeat(1000) + "]".repeat(1000), /deeper than 1000 levels/],
    ["keys", members(10_001), members(10_000), /an object of more than 10000 keys/],
    ["values", `[${"1,".repeat(100_001)}1]`, `[${"1,".repeat(100_000)}1]`, /more than 100000 values/],
  ];
  for (const [name, beyond, below, says] of rows) {
    t.throws(() => bound(beyond), { code: "invalid", message: says }, name);
    t.doesNotThrow(() => bound(below), name);
  }
});

t.test("boundJson() counts the keys of each object by itself", async (t) => {
  t.doesNotThrow(() => bound(`{"a":${members(9000)},"b":[${members(9000)},${members(9000)}]}`));
  t.throws(() => bound(`{"a":{},${members(10_000).slice(1)}`), { message: /keys/ });
});

t.test("boundJson() does not look into strings", async (t) => {
  for (const text of ["[", ",", '\\"[', "\\\\", "x".repeat(100) + '\\"[,', `${"\\\\".repeat(50)}[`])
    t.doesNotThrow(
      () => bound(JSON.stringify({ a: text.repeat(2000), b: JSON.parse(`"${text.replaceAll("[", "")}"`) })),
      text,
    );
  const data = { key: `{${'"a":1,'.repeat(400_000)}` };
  t.doesNotThrow(() => bound(JSON.stringify({ metadata: { name: "a" }, data })), "a ConfigMap of 3 MB");
  t.throws(() => bound(`{"a":"${'\\"'.repeat(600)}",${members(10_000).slice(1)}`), { message: /keys/ });
});

t.test("boundJson() says nothing of what is no JSON", async () => {
  fc.assert(fc.property(fc.string({ minLength: 1001, maxLength: 3000 }), (text) => bound(text) === undefined));
});

t.test("boundJson() begins anew with each text", async (t) => {
  const text = ": ".repeat(9000);
  t.doesNotThrow(() => {
    bound(text);
    bound(text);
  });
});

t.test("jsonBounds() finds in parts what boundJson() finds in the whole", async (t) => {
  const says = (look: () => void) => {
    try {
      look();
      return "nothing";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const inParts = (text: Buffer, size: number) => {
    const look = jsonBounds();
    for (let at = 0; at < text.length; at += size) look(text.subarray(at, at + size));
  };
  const tricky = ['"', "\\", "[", ",", ":", "a", "x".repeat(70), "\\".repeat(65)];
  const strings = fc.array(fc.constantFrom(...tricky), { maxLength: 40 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(
      fc.array(strings, { maxLength: 5 }),
      fc.integer({ min: 1, max: 90 }),
      fc.boolean(),
      (texts, size, isDeep) => {
        const text = Buffer.from(
          `${JSON.stringify(texts).slice(0, -1)}${isDeep ? `${texts.length ? "," : ""}${"[".repeat(1000)}` : "]"}`,
        );
        return (
          says(() => inParts(text, size)) === says(() => boundJson(text)) &&
          (says(() => inParts(text, size)) === "nothing") !== isDeep
        );
      },
    ),
  );
  t.pass();
});
