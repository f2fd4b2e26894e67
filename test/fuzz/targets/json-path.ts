import { parseJsonPath, readJsonPath } from "../../../control/resources/crd/json-path.ts";
import type { Target } from "../target.ts";

const document = {
  spec: { replicas: 3, list: [{ type: "Ready", status: "True" }, null, [1, 2]], "a.b": { "c/d": 1 } },
  status: { conditions: [{ type: "Ready", status: "True" }] },
};

export const jsonPath: Target = {
  name: "JSON path",
  corpus: [
    ".spec.replicas",
    "{.status.conditions[?(@.type=='Ready')].status}",
    "$.spec.list[*].type",
    ".spec['a.b']",
    ".spec.a\\.b.c/d",
    ".spec.list[-1][0]",
    '.spec.list[?(@.type!="x")]',
  ],
  words: [".", "[*]", "['", "']", "[?(@.", "==", "!=", ")]", "[0]", "[-1]", "{", "}", "$", "\\.", "constructor"],
  run(input) {
    const steps = parseJsonPath(input.toString());
    if (!steps) return "refused";
    const found = readJsonPath(document, steps);
    // Wildcards multiply what is found, but only within the document.
    if (found.length > 10_000) throw new Error(`${found.length} values were found in a small document`);
    return `${steps
      .map((step) => step.do)
      .slice(0, 4)
      .join()} ${Math.min(found.length, 3)}`;
  },
};
