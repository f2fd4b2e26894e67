// Fields that a kind does not have, and fields that stand twice, through every door.

import t from "tap";
import { type Json, startApi } from "../../test/harness/api-server.ts";

const deployments = "/apis/apps/v1/namespaces/default/deployments";
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/example.com/v1/namespaces/default/widgets";

const deployment = (meta: string, spec: string) =>
  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"${meta}},"spec":{${spec}"selector":{"matchLabels":{"a":"b"}},
  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"x"}]}}}}`;

const widget = (meta: string, spec: string) =>
  `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"${meta}},"spec":{${spec}}}`;

const crd = (spec: Json) => ({
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      },
    ],
  },
});

const strict = "?fieldValidation=Strict&fieldManager=m";
const patchAs = (type: string) => ({ "content-type": `application/${type}` });

t.test("Strict names unknown and duplicate fields of a built-in kind", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const made = await api.ask("POST", deployments + strict, deployment("", '"nope":1,"replicas":2,"replicas":3,'));
  t.match(made.body.message, /strict decoding error: unknown field "spec\.nope", duplicate field "spec\.replicas"$/);
  const meta = await api.ask("POST", deployments + strict, deployment(',"nope":1', ""));
  t.match(meta.body.message, /strict decoding error: unknown field "metadata\.nope"$/);
  const warned = await api.ask("POST", deployments, deployment(',"nope":1', '"replicas":2,"replicas":3,'));
  t.equal(warned.status, 201);
  t.equal(
    warned.headers.get("warning"),
    '299 - "unknown field \\"metadata.nope\\"", 299 - "duplicate field \\"spec.replicas\\""',
  );
  const rows: [string, string, RegExp][] = [
    [
      "merge-patch+json",
      '{"spec":{"nope":1,"paused":true,"paused":false}}',
      /strict decoding error: duplicate field "spec\.paused", unknown field "spec\.nope"$/,
    ],
    ["strategic-merge-patch+json", '{"spec":{"paused":true,"paused":false}}', /: duplicate field "spec\.paused"/],
    ["json-patch+json", '[{"op":"add","path":"/spec/nope","value":1}]', /unknown field "spec\.nope"/],
  ];
  for (const [type, body, says] of rows) {
    const patched = await api.ask("PATCH", `${deployments}/d${strict}`, body, patchAs(type));
    t.equal(patched.status, 422, type);
    t.match(patched.body.message, says, type);
    t.match(patched.body.message, /^ "" is invalid: patch: Invalid value: "/, type);
    t.match(patched.body.details.causes, [{ reason: "FieldValueInvalid", field: "patch" }], type);
    const lax = await api.ask("PATCH", `${deployments}/d?fieldValidation=Ignore`, body, patchAs(type));
    t.equal(lax.status, 200, `${type} ignored`);
    t.equal(lax.headers.get("warning"), null);
  }
});

t.test("a patch that makes of an object what it cannot be is itself said to be invalid", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", deployments, deployment("", ""));
  const strategic: [patch: Json, shown: string, says: string][] = [
    [{ metadata: { labels: "no" } }, "map[metadata:map[labels:no]]", "cannot restore map from string"],
    [{ spec: "no" }, "map[spec:no]", "cannot restore struct from: string"],
    [{ metadata: { finalizers: 3 } }, "map[metadata:map[finalizers:3]]", "cannot restore slice from int64"],
    [{ spec: { replicas: "two" } }, "map[spec:map[replicas:two]]", "unrecognized type: int32"],
    [{ spec: { replicas: 1.5 } }, "map[spec:map[replicas:1.5]]", "cannot convert float64 to int32"],
    [
      { metadata: { labels: { b: 1, a: [] } } },
      "map[metadata:map[labels:map[a:[] b:1]]]",
      "cannot convert int64 to string",
    ],
  ];
  for (const [patch, shown, says] of strategic) {
    const { body } = await api.ask("PATCH", `${deployments}/d`, patch, patchAs("strategic-merge-patch+json"));
    t.match(body, { code: 422, message: ` "" is invalid: patch: Invalid value: "${shown}": ${says}` }, says);
  }
  const merged = await api.ask(
    "PATCH",
    `${deployments}/d`,
    { metadata: { labels: "no" } },
    patchAs("merge-patch+json"),
  );
  t.equal(merged.status, 422);
  t.match(
    merged.body.message,
    /^ "" is invalid: patch: Invalid value: "{.*\\"labels\\":\\"no\\".*}": json: cannot unmarshal string into Go/,
  );
});

t.test("server-side apply owns only fields that there are", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { body } = await api.ask(
    "PATCH",
    `${deployments}/d?fieldManager=m`,
    deployment("", '"nope":1,'),
    patchAs("apply-patch+yaml"),
  );
  t.match(body, {
    code: 400,
    message:
      "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.nope: field not declared in schema",
  });
});

t.test("custom resources: metadata too, and YAML that says something twice", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", crds, crd({ type: "object", properties: { color: { type: "string" } } }));
  const made = await api.ask("POST", widgets + strict, widget(',"nope":1', '"color":"a","color":"b","size":1'));
  t.match(
    made.body.message,
    /unknown field "metadata\.nope", unknown field "spec\.size", duplicate field "spec\.color"$/,
  );
  const yaml = "\napiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  color: red\n  color: blue\n";
  const twice = await api.ask("PATCH", `${widgets}/a${strict}`, yaml, patchAs("apply-patch+yaml"));
  t.match(twice.body, {
    code: 400,
    message:
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 8: key "color" already set in map',
  });
  const lax = await api.ask("PATCH", `${widgets}/a?fieldManager=m`, yaml, patchAs("apply-patch+yaml"));
  t.equal(lax.body.spec?.color, "blue", "the last one holds");
  t.equal(lax.headers.get("warning"), '299 - "line 8: key \\"color\\" already set in map"');
  const unknown = await api.ask("PATCH", `${widgets}/a${strict}`, widget(',"nope":1', ""), patchAs("apply-patch+yaml"));
  t.match(unknown.body.message, /\.metadata\.nope: field not declared in schema$/);
});

t.test("a review has no table", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const review = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  t.match(await api.ask("POST", path, review, { accept }), { status: 406, body: { reason: "NotAcceptable" } });
  t.equal((await api.ask("POST", path, review)).status, 201);
});
