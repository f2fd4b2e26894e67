import { decodeBody } from "../../../control/api/body.ts";
import { duplicateKeys } from "../../../control/api/schema/duplicates.ts";
import { attempt, check, type Target } from "../target.ts";

export const json: Target = {
  name: "JSON",
  corpus: [
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}',
    '{"a":1,"a":2,"b":[{"c":true,"c":null}]}',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"a":1}}}',
    '[1.5e-9,-0,"\\ud800\\u0041\\n",{}]',
    '{"kind":7}',
    `${'{"a":['.repeat(20)}1${"]}".repeat(20)}`,
    ' \n{ "a" : "\\\\" , "b\\"" : [ ] }',
  ],
  words: [
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\\u",
    "\\",
    "null",
    "true",
    "1e5",
    '"__proto__"',
    '"kind"',
    '"apiVersion"',
    "[[[[[[[[",
    '{"a":',
  ],
  run(input) {
    const text = input.toString();
    let isJson = true;
    try {
      JSON.parse(text);
    } catch {
      isJson = false;
    }
    return attempt(
      () => decodeBody(input, "application/json", "ConfigMap"),
      ({ value }) => {
        check(isJson, "a text that is no JSON is read");
        const copies = duplicateKeys(text, value, 10);
        if (JSON.stringify(value) === text) check(copies.length === 0, "keys are duplicates that stand once");
        return `${typeof value} ${Math.min(copies.length, 2)}`;
      },
    );
  },
};
