// Custom resources from definition to deletion, through the API.

import { createHash } from "node:crypto";
import t from "tap";
import { until } from "../../../test/harness/until.ts";
import { type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/example.com/v1/namespaces/default/widgets";

const version = (name: string, more: Json = {}) => ({
  name,
  served: true,
  storage: true,
  subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
  additionalPrinterColumns: [
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ],
  schema: {
    openAPIV3Schema: {
      type: "object",
      required: ["spec"],
      properties: {
        spec: {
          type: "object",
          required: ["color"],
          properties: {
            color: { type: "string", enum: ["red", "blue"] },
            size: { type: "integer", default: 3, minimum: 1, maximum: 10 },
            low: { type: "integer" },
            high: { type: "integer" },
            name: { type: "string", pattern: "^[a-z]+$" },
            free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
          "x-kubernetes-validations": [
            {
              rule: "!has(self.low) || !has(self.high) || self.low <= self.high",
              message: "low must not be above high",
            },
            { rule: "self.color == oldSelf.color", message: "color is immutable" },
          ],
        },
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  },
  ...more,
});

const crd = (versions: Json[] = [version("v1")]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    versions,
  },
});

const widget = (name: string, spec: Json, more: Json = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec,
  ...more,
});

async function established(api: TestApi): Promise<void> {
  await until("the definition to be established", async () => {
    const { body } = await api.ask("GET", `${crds}/widgets.example.com`);
    return body.status?.conditions?.some((one: Json) => one.type === "Established" && one.status === "True");
  });
}

async function withWidgets(t: Pick<typeof import("tap").t, "teardown" | "equal">, versions?: Json[]): Promise<TestApi> {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body } = await api.ask("POST", crds, crd(versions));
  t.equal(status, 201, body.message);
  if (status === 201) await established(api);
  return api;
}

t.test("a custom resource is pruned, defaulted and checked by its schema", async (t) => {
  const api = await withWidgets(t);
  const made = await api.ask(
    "POST",
    widgets,
    widget("a", { color: "red", nope: 1, free: { any: "thing" } }, { status: { x: 1 } }),
  );
  t.equal(made.status, 201);
  t.match(made.body.spec, { color: "red", size: 3, free: { any: "thing" } });
  t.notOk("nope" in made.body.spec);
  t.equal(made.headers.get("warning"), '299 - "unknown field \\"spec.nope\\""');
  t.notOk(made.body.status, "status is only set through its own door");
  t.equal(made.body.metadata.generation, 1);
  const bad = await api.ask("POST", widgets, widget("b", { color: "green", size: 11, name: "A1" }));
  t.equal(bad.status, 422);
  t.match(bad.body.message, /Widget\.example\.com "b" is invalid/);
  t.match(bad.body.message, /spec\.color: Unsupported value: "green": supported values: "blue", "red"/);
  t.match(bad.body.message, /spec\.size: Invalid value: 11: spec\.size in body should be less than or equal to 10/);
  t.match(bad.body.message, /spec\.name in body should match/);
  const none = await api.ask("POST", widgets, { ...widget("c", {}), spec: undefined });
  t.match(none.body.message, /spec: Required value/);
});

t.test("metadata of an object within a custom resource is held to what metadata has", async (t) => {
  const part = { type: "object", "x-kubernetes-embedded-resource": true };
  const parts = { type: "object", properties: { part, list: { type: "array", items: part } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: parts } } };
  const api = await withWidgets(t, [version("v1", { schema, subresources: {} })]);
  const embedded = (metadata: Json) => ({ apiVersion: "v1", kind: "Part", metadata });
  const known = { name: "p", namespace: "n", labels: { a: "b" } };
  const made = await api.ask(
    "POST",
    widgets,
    widget("a", { part: embedded({ ...known, odd: 1 }), list: [embedded({ ...known, finalizers: ["x/y"], odd: 2 })] }),
  );
  t.equal(made.status, 201);
  t.same(made.body.spec.part.metadata, known);
  t.same(made.body.spec.list[0].metadata, { ...known, finalizers: ["x/y"] });
  t.match(made.headers.get("warning"), /spec\.part\.metadata\.odd.*spec\.list\[0\]\.metadata\.odd/);
  const wrong = await api.ask("POST", widgets, widget("b", { part: embedded({ labels: 1 }) }));
  t.equal(wrong.status, 400);
});

t.test("CEL rules hold for new objects and for changes", async (t) => {
  const api = await withWidgets(t);
  const bad = await api.ask("POST", widgets, widget("a", { color: "red", low: 5, high: 1 }));
  t.match(bad.body.message, /spec: Invalid value: "object": low must not be above high/);
  await api.ask("POST", widgets, widget("a", { color: "red" }));
  const patch = (spec: Json) =>
    api.ask("PATCH", `${widgets}/a`, { spec }, { "content-type": "application/merge-patch+json" });
  t.match((await patch({ color: "blue" })).body.message, /color is immutable/);
  const grown = await patch({ size: 4 });
  t.equal(grown.body.metadata.generation, 2);
});

t.test("a definition whose rule does not compile is refused", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const broken = version("v1");
  broken.schema.openAPIV3Schema.properties.spec["x-kubernetes-validations"] = [{ rule: "self.nope > 1", message: "" }];
  const { status, body } = await api.ask("POST", crds, crd([broken]));
  t.equal(status, 422);
  t.match(body.message, /undefined field 'nope'/);
});

t.test("status, scale, tables and discovery work for custom resources", async (t) => {
  const api = await withWidgets(t);
  await api.ask("POST", widgets, widget("a", { color: "red" }));
  const merge = { "content-type": "application/merge-patch+json" };
  const status = { conditions: [{ type: "Ready", status: "True" }], size: 2 };
  t.equal((await api.ask("PATCH", `${widgets}/a/status`, { status, spec: { size: 9 } }, merge)).body.spec.size, 3);
  const scaled = await api.ask("PATCH", `${widgets}/a/scale`, { spec: { replicas: 5 } }, merge);
  t.match(scaled.body, { kind: "Scale", spec: { replicas: 5 }, status: { replicas: 2 } });
  const table = await api.ask("GET", widgets, undefined, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  t.same(
    table.body.columnDefinitions.map((one: Json) => one.name),
    ["Name", "Size", "Ready"],
  );
  t.same(table.body.rows[0].cells, ["a", 5, "True"]);
  const listed = (await api.ask("GET", "/apis/example.com/v1")).body.resources.map((one: Json) => one.name);
  t.same(listed, ["widgets", "widgets/scale", "widgets/status"]);
  const [main] = (await api.ask("GET", "/apis/example.com/v1")).body.resources;
  const hash = createHash("sha256").update("example.com/v1/Widget").digest().subarray(0, 8).toString("base64");
  t.equal(main.storageVersionHash, hash);
  const index = (await api.ask("GET", "/openapi/v3")).body.paths["apis/example.com/v1"];
  const document = (await api.ask("GET", index.serverRelativeURL)).body;
  t.ok(document.components.schemas["com.example.v1.Widget"]);
  t.equal(
    (await api.ask("PATCH", `${widgets}/a`, {}, { "content-type": "application/strategic-merge-patch+json" })).status,
    415,
  );
  t.match(
    document.components.schemas["com.example.v1.Widget"].properties.apiVersion.description,
    /^APIVersion defines/,
    "as for any kind",
  );
  const v2 = (await api.ask("GET", "/openapi/v2")).body;
  t.match(v2.definitions["com.example.v1.Widget"], {
    properties: {
      metadata: { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" },
      spec: { properties: { color: { type: "string" } } },
    },
    "x-kubernetes-group-version-kind": [{ group: "example.com", version: "v1", kind: "Widget" }],
  });
  t.ok(v2.definitions["io.k8s.api.core.v1.Pod"], "beside the built-in kinds");
  const path = "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}";
  t.match(v2.paths[path].patch.parameters[0], { in: "body" });
  for (const { paths } of [document, v2])
    t.notOk("parameters" in paths[path].get, "an empty list is left out, as by whoever reads and writes it again");
});

t.test("appliers share the finalizers and owners of a custom resource", async (t) => {
  const api = await withWidgets(t);
  const owner = (uid: string) => ({ apiVersion: "v1", kind: "ConfigMap", name: uid, uid });
  const apply = (manager: string, metadata: Json) =>
    api.ask(
      "PATCH",
      `${widgets}/shared?fieldManager=${manager}`,
      {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { name: "shared", ...metadata },
        spec: { color: "red" },
      },
      { "content-type": "application/apply-patch+yaml" },
    );
  const first = { finalizers: ["example.com/a"], ownerReferences: [owner("1")] };
  await apply("one", first);
  const merge = { metadata: { finalizers: ["example.com/a", "example.com/b"] } };
  await api.ask("PATCH", `${widgets}/shared`, merge, { "content-type": "application/merge-patch+json" });
  t.equal((await apply("two", { finalizers: ["example.com/c"], ownerReferences: [owner("2")] })).status, 200);
  const { status, body } = await apply("one", first);
  t.equal(status, 200, "nobody else's entries stand in the way");
  t.same(body.metadata.finalizers, ["example.com/a", "example.com/b", "example.com/c"]);
  t.same(
    body.metadata.ownerReferences.map(({ uid }: Json) => uid),
    ["1", "2"],
  );
});

t.test("an object is shown in every version that is served", async (t) => {
  const api = await withWidgets(t, [version("v1", { storage: false }), version("v2")]);
  await api.ask("POST", widgets, widget("a", { color: "red" }));
  const other = await api.ask("GET", "/apis/example.com/v2/namespaces/default/widgets/a");
  t.match(other.body, { apiVersion: "example.com/v2", spec: { color: "red" } });
  t.equal((await api.ask("GET", `${widgets}/a`)).body.apiVersion, "example.com/v1");
  t.equal((await api.ask("GET", widgets)).body.items[0].apiVersion, "example.com/v1");
});

t.test("deleting a definition deletes its objects, and then it is gone", async (t) => {
  const api = await withWidgets(t);
  const held = widget("a", { color: "red" });
  await api.ask("POST", widgets, { ...held, metadata: { name: "a", finalizers: ["example.com/wait"] } });
  const before = await api.ask("GET", `${crds}/widgets.example.com`);
  t.notOk("finalizers" in before.body.metadata, "nothing holds it before that");
  const { body } = await api.ask("DELETE", `${crds}/widgets.example.com`);
  t.match(body.metadata, { finalizers: ["customresourcecleanup.apiextensions.k8s.io"], deletionTimestamp: String });
  await until("its object to be on its way", async () => {
    const { metadata } = (await api.ask("GET", `${widgets}/a`)).body;
    return metadata?.deletionTimestamp;
  });
  await api.ask(
    "PATCH",
    `${widgets}/a`,
    { metadata: { finalizers: null } },
    { "content-type": "application/merge-patch+json" },
  );
  await until("it to be gone", async () => (await api.ask("GET", `${crds}/widgets.example.com`)).status === 404);
  t.equal((await api.ask("GET", widgets)).status, 404);
});

t.test("definitions are served again after a restart", async (t) => {
  const api = await withWidgets(t);
  await api.ask("POST", widgets, widget("a", { color: "red" }));
  const again = await startApi({ store: api.store });
  t.teardown(() => again.close());
  t.equal((await again.ask("GET", `${widgets}/a`)).status, 200);
});

t.test("a stricter schema does not refuse what an update leaves alone", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const loose = { type: "integer" };
  const of = (size: Json, required: string[] = []) => ({
    type: "object",
    properties: {
      spec: {
        type: "object",
        required,
        properties: { size, color: { type: "string" }, list: { type: "array", items: size } },
      },
    },
  });
  const crd = (schema: Json) => ({
    metadata: { name: "gauges.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "gauges", kind: "Gauge" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  const gauges = "/apis/example.com/v1/namespaces/default/gauges";
  const merge = { "content-type": "application/merge-patch+json" };
  await api.ask("POST", crds, crd(of(loose)));
  await api.ask("POST", gauges, {
    apiVersion: "example.com/v1",
    kind: "Gauge",
    metadata: { name: "a" },
    spec: { size: 50, list: [50] },
  });
  const strict = of({ type: "integer", maximum: 10 }, ["color"]);
  const { status } = await api.ask("PATCH", `${crds}/gauges.example.com`, crd(strict), merge);
  t.equal(status, 200);
  const patch = (body: Json) => api.ask("PATCH", `${gauges}/a`, body, merge);
  const labels = { metadata: { labels: { x: "y" } } };
  await until("the new schema to hold", async () => (await patch({ spec: { size: 51 } })).status === 422);
  t.equal((await patch(labels)).status, 200, "labels may change");
  const touched = await patch({ spec: { list: [50, 1] } });
  t.same(
    touched.body.details.causes.map(({ field }: Json) => field),
    ["spec.color", "spec.list[0]"],
    "what changes is held to the new schema, and so is what misses a field",
  );
  t.equal((await patch({ spec: { color: "red" } })).status, 200, "the rest stays as it is");
  t.equal((await patch({ spec: { size: 60 } })).status, 422);
  t.equal((await patch({ spec: { size: 6 } })).status, 200);
});

t.test("OpenAPI v2 of schemas that it cannot say is what kubectl can read", async (t) => {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        required: ["maybe", "sure"],
        properties: {
          maybe: { type: "string", nullable: true },
          sure: { type: "string" },
          open,
          inner: { type: "object", "x-kubernetes-embedded-resource": true, properties: { a: { type: "string" } } },
        },
      },
    },
  };
  const api = await withWidgets(t, [
    version("v1", { schema: { openAPIV3Schema: schema } }),
    version("v2", { storage: false, schema: { openAPIV3Schema: open } }),
  ]);
  const { definitions } = (await api.ask("GET", "/openapi/v2")).body;
  const { spec } = definitions["com.example.v1.Widget"].properties;
  t.same(spec.required, ["sure"]);
  t.notOk(spec.properties.open.type);
  t.match(spec.properties.inner, {
    required: ["kind", "apiVersion"],
    properties: { metadata: { $ref: /ObjectMeta/ } },
  });
  const { "x-kubernetes-group-version-kind": _kind, ...rest } = definitions["com.example.v2.Widget"];
  t.same(rest, { type: "object" });
});

t.test("who uses a deprecated version is told with every answer, and which one to use", async (t) => {
  const old = { deprecated: true, storage: false };
  const versions = [
    version("v1"),
    version("v2alpha1", { storage: false }),
    version("v1beta2", { storage: false, served: false }),
    version("v1beta1", old),
    version("v3", { ...old, deprecationWarning: "v3 came too early" }),
    version("v4", old),
  ];
  const api = await withWidgets(t, versions);
  const warnings = async (name: string) =>
    (await api.ask("GET", `/apis/example.com/${name}/namespaces/default/widgets`)).headers.get("warning");
  t.equal(await warnings("v1"), null);
  t.equal(await warnings("v1beta1"), '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"');
  t.equal(await warnings("v3"), '299 - "v3 came too early"');
  t.equal(await warnings("v4"), '299 - "example.com/v4 Widget is deprecated"', "nothing is better");
  const { headers } = await api.ask("GET", "/api/v1/componentstatuses");
  t.equal(headers.get("warning"), '299 - "v1 ComponentStatus is deprecated in v1.19+"');
});
