import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { projectFolder } from "../../../plugins/kit/os/platform/project.ts";
import { loadSchemas, type Schemas } from "../schema/schemas.ts";
import { compare } from "./compare.ts";
import { newFields } from "./new-fields.ts";
import { ownable } from "./ownable.ts";
import { Shapes } from "./shape.ts";
import { deduced } from "../../resources/shape.ts";

const shapes = new Shapes(loadSchemas(join(projectFolder, ".generated/openapi")) as Schemas);
const kinds: readonly [string, string, string][] = [
  ["", "v1", "Pod"],
  ["", "v1", "ConfigMap"],
  ["", "v1", "Service"],
  ["apps", "v1", "Deployment"],
];

t.test("newFields() names what the maker wrote, in order", async (t) => {
  const [shape, scaffold] = [shapes.root("", "v1", "Pod"), shapes.scaffold("", "v1", "Pod")];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      uid: "u",
      labels: { b: "1", a: "2" },
      finalizers: ["x/y"],
      ownerReferences: [{ uid: "o" }],
    },
    spec: { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80 }] }], nodeSelector: {} },
    status: { phase: "Pending" },
  } as unknown as KubeObject;
  t.equal(
    JSON.stringify(newFields(pod, scaffold, shape, true)),
    JSON.stringify({
      "f:metadata": {
        "f:finalizers": { ".": {}, 'v:"x/y"': {} },
        "f:labels": { ".": {}, "f:a": {}, "f:b": {} },
        "f:ownerReferences": { ".": {}, 'k:{"uid":"o"}': {} },
      },
      "f:spec": {
        "f:containers": {
          'k:{"name":"c"}': {
            ".": {},
            "f:image": {},
            "f:name": {},
            "f:ports": { ".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
          },
        },
        "f:nodeSelector": {},
      },
    }),
  );
  t.match(newFields(pod, scaffold, shape, false), { "f:status": { "f:phase": {} } });
  t.equal(newFields({ metadata: { name: "web" } } as KubeObject, {}, deduced, true), undefined);
});

/** Words that objects really have, so that shapes are met, and some that are traps. */
const words =
  "spec status data labels containers name image ports containerPort protocol env value creationTimestamp finalizers ownerReferences " +
  "uid template metadata selector nodeSelector __proto__ constructor x";
const word = fc.constantFrom(...words.split(" "));
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, "a", 1, true, {}, []),
    fc.dictionary(word, tie("tree"), { maxKeys: 5 }),
    fc.array(tie("tree"), { maxLength: 3 }),
  ),
}));

t.test("newFields() says the same as a comparison with what nobody wrote", async (t) => {
  const body = fc.dictionary(word, tree, { maxKeys: 6 });
  const metadata = fc.dictionary(
    word.filter((key) => key !== "metadata"),
    tree,
    { maxKeys: 6 },
  );
  const property = fc.property(fc.constantFrom(...kinds, undefined), body, metadata, (kind, body, metadata) => {
    const object = { ...body, apiVersion: "v1", kind: "Any", metadata } as unknown as KubeObject;
    const shape = kind ? shapes.root(...kind) : deduced;
    const scaffold = kind ? shapes.scaffold(...kind) : {};
    const { changed } = compare(scaffold, ownable(object), shape);
    const expected = changed.isEmpty ? undefined : changed.toFields();
    return JSON.stringify(newFields(object, scaffold, shape, false)) === JSON.stringify(expected);
  });
  fc.assert(property, { numRuns: 3000 });
  t.pass();
});
