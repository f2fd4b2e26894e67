import { readYamlDocuments, writeYaml } from "../../../plugins/kit/base/yaml.ts";
import { attempt, check, type Target } from "../target.ts";

export const yaml: Target = {
  name: "YAML",
  corpus: [
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
    "a: &x [1, 2]\nb: *x\n---\nc: |\n  text\n",
    "base: &b {k: v}\nd:\n  <<: *b\n  l: 0x1F\n",
    "- !!str 5\n- .inf\n- ~\n- 'it''s'\n- \"\\u00e9\"\n",
    "__proto__: {polluted: true}\nconstructor: {prototype: {a: 1}}\n",
    "a: &a [*a]\n",
    "a0: &a0 [x,x,x,x]\na1: &a1 [*a0,*a0,*a0,*a0]\na2: &a2 [*a1,*a1,*a1,*a1]\n",
    "%YAML 1.2\n---\n? [k]\n: v\n...\n",
  ],
  words: [
    "&a ",
    "*a",
    "<<: ",
    "- ",
    ": ",
    "\n  ",
    "---\n",
    "|\n",
    ">-\n",
    "!!",
    "{",
    "}",
    "[",
    "]",
    "? ",
    "%YAML",
    "#",
    "'",
    '"',
  ],
  run: (input) =>
    attempt(
      () => readYamlDocuments(input.toString(), "the input"),
      (documents) => {
        const json = JSON.stringify(documents);
        const again = readYamlDocuments(
          documents.map((document) => `---\n${writeYaml(document)}`).join(""),
          "the copy",
        );
        check(JSON.stringify(again) === json, "a document is read otherwise after it was written");
        return `${Math.min(documents.length, 3)} ${typeof documents[0]} ${Array.isArray(documents[0])}`;
      },
    ),
};
