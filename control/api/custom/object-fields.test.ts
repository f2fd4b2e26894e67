// Kind, version and metadata of custom resources and of objects within them, as kube-apiserver v1.37 validates them.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";
import { until } from "../../../test/harness/until.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const boxes = "/apis/example.com/v1/namespaces/default/boxes";

const definition = (properties: Json) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boxes.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "boxes", singular: "box", kind: "Box", listKind: "BoxList" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } },
    ],
  },
});

t.test("a definition may narrow the names of its objects, and nothing else of their metadata", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const create = async (properties: Json) =>
    (await api.ask("POST", `${definitions}?dryRun=All`, definition(properties))).body;
  const only = /properties\[metadata\]: Forbidden: must not specify anything other than name and generateName/;
  for (const metadata of [
    { type: "object", properties: { labels: { type: "object" } } },
    { type: "object", properties: { name: { type: "string" }, labels: { type: "object" } } },
    { type: "object", description: "x" },
    { type: "object", required: ["name"] },
  ])
    t.match((await create({ metadata })).message, only);
  t.match((await create({ kind: { type: "integer" } })).message, /properties\[kind\].type: .*must be string/);
  const taken = await create({ metadata: { type: "object", properties: { name: { type: "string", maxLength: 3 } } } });
  t.equal(taken.kind, "CustomResourceDefinition");
});

t.test(
  "objects are held to the names of the schema, and those within them to having a kind and a version",
  async (t) => {
    const api = await startApi();
    t.teardown(() => api.close());
    const name = { type: "string", maxLength: 3, pattern: "^x" };
    const inner = {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    };
    await api.ask(
      "POST",
      definitions,
      definition({
        metadata: { type: "object", properties: { name } },
        spec: { type: "object", properties: { inner, list: { type: "array", items: inner } } },
      }),
    );
    await until("boxes to be served", async () => (await api.ask("GET", boxes)).status === 200);
    const box = (spec: Json = {}, name = "xab") => ({
      apiVersion: "example.com/v1",
      kind: "Box",
      metadata: { name },
      spec,
    });
    const create = (object: Json) => api.ask("POST", `${boxes}?dryRun=All`, object);
    t.equal((await create(box())).status, 201);
    const refused: [Json, RegExp][] = [
      [box({}, "xlong"), /metadata.name: Too long: may not be more than 3 bytes/],
      [box({}, "abc"), /metadata.name in body should match '\^x'/],
      [box({ inner: {} }), /\[spec.inner.apiVersion: Required value, spec.inner.kind: Required value\]/],
      [box({ list: [{ kind: "Pod" }] }), /spec.list\[0\].apiVersion: Required value/],
      [box({ inner: { kind: "", apiVersion: "v1" } }), /spec.inner.kind: Invalid value: "": must not be empty/],
      [box({ inner: { kind: "Pod!", apiVersion: "v1" } }), /spec.inner.kind: .*may have mixed case, but should/],
      [box({ inner: { kind: "Pod", apiVersion: "a/b/c" } }), /unexpected GroupVersion string: a\/b\/c/],
      [
        box({ inner: { kind: "Pod", apiVersion: "v1", metadata: { labels: { "x y": "1" } } } }),
        /spec.inner.metadata.labels: Invalid value: "x y": name part must consist/,
      ],
    ];
    for (const [object, why] of refused) {
      const { status, body } = await create(object);
      t.equal(status, 422);
      t.match(body.message, why);
    }
    const { kind: _kind, ...untyped } = box();
    t.match((await create(untyped)).body, {
      code: 400,
      message: /\(must be of type Box\): Object 'Kind' is missing in/,
    });
  },
);
