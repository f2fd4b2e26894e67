// Integers beyond 2^53 through the API: refused wherever another number would be stored.

import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import { gadgetDefinition, gadgets } from "../../../test/fixtures/applied.ts";
import { until } from "../../../test/harness/until.ts";

const large = "9007199254740993";
const refused = /integer 9007199254740993 cannot be stored exactly/;
const pods = "/api/v1/namespaces/default/pods";
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";

t.test("integers that cannot be kept are refused, not changed", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await api.ask("POST", definitions, gadgetDefinition);
  await until("gadgets to be served", async () => (await api.ask("GET", gadgets)).status === 200);
  const gadget = (spec: string) =>
    `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":${spec}}`;
  const revision = (data: string) =>
    `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"revision":1,"data":${data}}`;
  const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"activeDeadlineSeconds":${large}}}`;
  const yaml = { "content-type": "application/yaml" };
  const patch = (type: string) => ({ "content-type": `application/${type}` });
  await api.ask("POST", gadgets, gadget('{"free":{}}'));
  const asked: [string, string, string, Record<string, string>?][] = [
    ["POST", gadgets, gadget(`{"free":{"a":${large}}}`)],
    ["POST", gadgets, `apiVersion: example.com/v1\nkind: Gadget\nspec:\n  free: {a: ${large}}\n`, yaml],
    ["PUT", `${gadgets}/g`, gadget(`{"free":{"a":${large}}}`)],
    ["PATCH", `${gadgets}/g`, `{"spec":{"free":{"a":${large}}}}`, patch("merge-patch+json")],
    ["PATCH", `${gadgets}/g`, `[{"op":"add","path":"/spec/free/a","value":${large}}]`, patch("json-patch+json")],
    ["PATCH", `${gadgets}/g?fieldManager=m`, gadget(`{"free":{"a":${large}}}`), patch("apply-patch+yaml")],
    ["POST", revisions, revision(`{"a":[${large}]}`)],
    ["POST", pods, pod],
  ];
  for (const [method, path, body, headers] of asked) {
    const { status, text } = await api.ask(method, path, body, headers);
    t.match(text, refused, `${method} ${path}`);
    t.equal(Math.floor(status / 100), 4);
  }
  const exact = await api.ask("POST", revisions, revision('{"a":[9007199254740994]}'));
  t.equal(exact.status, 201);
  t.match(exact.text, /9007199254740994/);
});

t.test("floating-point fields take any integer, and 64-bit fields none that is larger", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const definition = structuredClone(gadgetDefinition);
  const [version] = definition.spec.versions;
  Object.assign(version?.schema.openAPIV3Schema.properties.spec.properties ?? {}, {
    size: { type: "integer", maximum: "LARGEST" },
  });
  const text = JSON.stringify(definition).replace('"LARGEST"', "9223372036854775807");
  const { status, body } = await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", text);
  t.equal(status, 201, body.message);
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }], activeDeadlineSeconds: 2 ** 63 },
  };
  const larger = await api.ask("POST", pods, pod);
  t.equal(larger.status, 400);
  t.match(larger.body.message, /cannot unmarshal number 922337203685477\d+ into Go struct field/);
});
