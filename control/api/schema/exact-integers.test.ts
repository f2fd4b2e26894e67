// Integers beyond 2^53 through the API: kept by custom resources, refused wherever another number would be stored.

import t, { type Test } from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import { gadgetDefinition, gadgets } from "../../../test/fixtures/applied.ts";
import { until } from "../../../test/harness/until.ts";

const large = "9007199254740993";
const refused = /integer 9007199254740993 cannot be stored exactly/;
const pods = "/api/v1/namespaces/default/pods";
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";

const gadget = (spec: string, metadata = '"name":"g"') =>
  `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{${metadata}},"spec":${spec}}`;
const as = (type: string) => ({ "content-type": `application/${type}` });

async function startWithGadgets(t: Test) {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", gadgetDefinition);
  await until("gadgets to be served", async () => (await api.ask("GET", gadgets)).status === 200);
  return api;
}

t.test("custom resources keep integers of 64 bits as they are, however they are written", async (t) => {
  const api = await startWithGadgets(t);
  const kept = async (value: string, what: string) => {
    t.match((await api.ask("GET", `${gadgets}/g`)).text, `"a":${value}`, what);
    t.match((await api.ask("GET", gadgets)).text, `"a":${value}`, `${what}, listed`);
  };
  const created = await api.ask("POST", gadgets, gadget('{"free":{"a":9223372036854775807}}'));
  t.equal(created.status, 201, created.text);
  t.match(created.text, '"a":9223372036854775807');
  await kept("9223372036854775807", "create");
  const put = await api.ask("GET", `${gadgets}/g`);
  const changed = put.text.replace("9223372036854775807", "9223372036854775806");
  t.equal((await api.ask("PUT", `${gadgets}/g`, changed)).status, 200);
  await kept("9223372036854775806", "update by one");
  await api.ask("PATCH", `${gadgets}/g`, '{"metadata":{"labels":{"x":"y"}}}', as("merge-patch+json"));
  await kept("9223372036854775806", "a patch of something else");
  const merge = await api.ask("PATCH", `${gadgets}/g`, `{"spec":{"free":{"a":${large}}}}`, as("merge-patch+json"));
  t.equal(merge.status, 200, merge.text);
  await kept(large, "merge patch");
  const operations =
    '[{"op":"test","path":"/spec/free/a","value":9007199254740993},{"op":"add","path":"/spec/free/a","value":-9007199254740995}]';
  const patched = await api.ask("PATCH", `${gadgets}/g`, operations, as("json-patch+json"));
  t.equal(patched.status, 200, patched.text);
  await kept("-9007199254740995", "JSON patch");
  const apply = `${gadgets}/g?fieldManager=m&force=true`;
  const applied = await api.ask("PATCH", apply, gadget(`{"free":{"a":${large}}}`), as("apply-patch+yaml"));
  t.equal(applied.status, 200, applied.text);
  await kept(large, "apply");
});

t.test("integers that cannot be kept are refused, not changed", async (t) => {
  const api = await startWithGadgets(t);
  const revision = (data: string) =>
    `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"revision":1,"data":${data}}`;
  const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"activeDeadlineSeconds":${large}}}`;
  const asked: [string, string, string, Record<string, string>?][] = [
    ["POST", gadgets, `apiVersion: example.com/v1\nkind: Gadget\nspec:\n  free: {a: ${large}}\n`, as("yaml")],
    ["POST", revisions, revision(`{"a":[${large}]}`)],
    ["POST", pods, pod],
  ];
  for (const [method, path, body, headers] of asked) {
    const { status, text } = await api.ask(method, path, body, headers);
    t.match(text, refused, `${method} ${path}`);
    t.equal(Math.floor(status / 100), 4);
  }
  const metadata = `"name":"h","deletionGracePeriodSeconds":${large}`;
  t.equal(
    (await api.ask("POST", gadgets, gadget("{}", metadata))).status,
    400,
    "the metadata are those of built-in kinds",
  );
  await api.ask("POST", pods, pod.replace(large, "1"));
  const operation = `[{"op":"replace","path":"/spec/activeDeadlineSeconds","value":${large}}]`;
  t.equal((await api.ask("PATCH", `${pods}/p`, operation, as("json-patch+json"))).status, 422);
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
