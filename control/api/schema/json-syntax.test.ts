import t from "tap";
import fc from "fast-check";
import { jsonProblem } from "./json-syntax.ts";

const rows: readonly [text: string, problem: string][] = [
  ["", "unexpected end of JSON input"],
  ["apiVersion: v1", "invalid character 'a' looking for beginning of value"],
  ["{", "unexpected end of JSON input"],
  ["{a", "invalid character 'a' looking for beginning of object key string"],
  ['{"a"', "unexpected end of JSON input"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[}", "invalid character '}' looking for beginning of value"],
  ["{} x", "invalid character 'x' after top-level value"],
  ["012", "invalid character '1' after top-level value"],
  ["tru", "unexpected end of JSON input"],
  ["trux", "invalid character 'x' in literal true (expecting 'e')"],
  ["-x", "invalid character 'x' in numeric literal"],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
  ["1e+", "unexpected end of JSON input"],
  ["1ex", "invalid character 'x' in exponent of numeric literal"],
  ['"\n"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
];

t.test("jsonProblem() names the first sign that cannot stand where it does", async (t) => {
  for (const [text, problem] of rows) t.equal(jsonProblem(text), problem, text);
});

t.test("jsonProblem() finds nothing but the end in what is right", async () => {
  fc.assert(fc.property(fc.json(), (text) => jsonProblem(text) === "unexpected end of JSON input"));
});

t.test("jsonProblem() names a sign that is there, or the end", async () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const problem = jsonProblem(text);
      return problem === "unexpected end of JSON input" || problem.startsWith("invalid character '");
    }),
  );
});
