import { applyJsonPatch } from "../../../plugins/kit/kube/patch/json-patch.ts";
import { applyMergePatch } from "../../../plugins/kit/kube/patch/merge-patch.ts";
import { applyStrategicPatch } from "../../../plugins/kit/kube/patch/strategic-patch.ts";
import { attempt, check, type Target } from "../target.ts";

const pod = {
  metadata: { name: "a", labels: { app: "web" }, finalizers: ["x", "y"] },
  spec: {
    containers: [
      { name: "a", image: "i", ports: [{ containerPort: 80 }], env: [{ name: "E", value: "1" }] },
      { name: "b", image: "j" },
    ],
    volumes: [{ name: "v", emptyDir: {} }],
  },
};
const before = JSON.stringify(pod);
const mostGrowth = 4 * 1024 * 1024;

type Apply = (document: unknown, patch: unknown) => unknown;

const keys = ["metadata", "spec", "containers", "volumes", "name", "env", "ports", "labels", "finalizers", "__proto__"];
const quoted = [...keys.map((key) => `"${key}"`), "{", "}", "[", "]", ":", ",", "null", '"a"', "1"];

function patchTarget(name: string, apply: Apply, corpus: readonly string[], words: readonly string[]): Target {
  return {
    name,
    corpus,
    words: [...words, ...quoted],
    run(input) {
      let patch: unknown;
      try {
        patch = JSON.parse(input.toString());
      } catch {
        return "no JSON";
      }
      return attempt(
        () => apply(pod, patch),
        (patched) => {
          check(JSON.stringify(pod) === before, "the patch changed the document that it was applied to");
          const text = JSON.stringify(patched) ?? "";
          check(text.length < mostGrowth, `a patch of ${input.length} bytes makes a document of ${text.length}`);
          return Object.keys((patched as object | null) ?? {})
            .slice(0, 4)
            .join();
        },
      );
    },
  };
}

export const jsonPatch = patchTarget(
  "JSON patch",
  applyJsonPatch,
  [
    '[{"op":"add","path":"/spec/containers/-","value":{"name":"c"}}]',
    '[{"op":"test","path":"/metadata/name","value":"a"},{"op":"remove","path":"/spec/volumes/0"}]',
    '[{"op":"move","from":"/spec/containers/0","path":"/spec/containers/1"},{"op":"copy","from":"/metadata","path":"/m~0~1"}]',
    '[{"op":"replace","path":"","value":[]},{"op":"add","path":"/0","value":null}]',
    '[{"op":"add","path":"/__proto__/polluted","value":true},{"op":"add","path":"/constructor/prototype/a","value":1}]',
  ],
  [
    '"op"',
    '"path"',
    '"from"',
    '"value"',
    '"add"',
    '"remove"',
    '"replace"',
    '"move"',
    '"copy"',
    '"test"',
    "/-",
    "/0",
    "~1",
    "~0",
  ],
);

export const mergePatch = patchTarget(
  "merge patch",
  applyMergePatch,
  [
    '{"metadata":{"labels":null,"a":{"b":null}}}',
    '{"spec":[1,{"a":null}]}',
    '{"__proto__":{"polluted":1},"a":{"__proto__":null}}',
    "7",
  ],
  [],
);

export const strategicPatch = patchTarget(
  "strategic merge patch",
  (document, patch) => applyStrategicPatch(document, patch, "v1/Pod"),
  [
    '{"spec":{"containers":[{"name":"a","image":"k"},{"$patch":"delete","name":"b"}]}}',
    '{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a"}]}}',
    '{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]},"spec":{"volumes":[{"$retainKeys":["name"],"name":"v"}]}}',
    '{"spec":{"$patch":"replace","containers":null}}',
    '{"metadata":{"__proto__":{"polluted":1},"finalizers":["z","x"]}}',
  ],
  [
    '"$patch"',
    '"$retainKeys"',
    '"$setElementOrder/containers"',
    '"$deleteFromPrimitiveList/finalizers"',
    '"delete"',
    '"replace"',
    '"merge"',
  ],
);
