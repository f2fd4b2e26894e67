// Custom resources whose versions a webhook converts, and objects that are older than their schema.

import t from "tap";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { serve } from "../../../plugins/kit/os/platform/http-server.ts";
import { admin, type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";
import { testPki } from "../../../test/harness/certificates.ts";
import { until } from "../../../test/harness/until.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const path = (version: string) => `/apis/example.com/${version}/namespaces/default/hosts`;
const mergePatch = { "content-type": "application/merge-patch+json" };

interface Review {
  apiVersion: string;
  request: { uid: string; desiredAPIVersion: string; objects: KubeObject[] };
}

/** v1 has `hostPort: "a:1"`, v2 has `host` and `port`. */
function convert(object: KubeObject, apiVersion: string): Json {
  const { hostPort, host, port, ...rest } = object as Json;
  if (apiVersion.endsWith("v2")) {
    const [name, number] = (hostPort ?? "").split(":");
    return { ...rest, apiVersion, host: name, port: number };
  }
  return { ...rest, apiVersion, hostPort: `${host}:${port}` };
}

async function withWebhook(t: Tap, change: (response: Json, review: Review) => Json = (response) => response) {
  const pki = testPki();
  const asked: Review[] = [];
  const hook = await serve({
    listen: { host: "127.0.0.1", port: 0 },
    tls: pki.server,
    handler: async (request) => {
      const review = (await request.json()) as Review;
      asked.push(review);
      const { uid, objects, desiredAPIVersion } = review.request;
      const response = {
        uid,
        result: { status: "Success" },
        convertedObjects: objects.map((object) => convert(object, desiredAPIVersion)),
      };
      return Response.json({ ...review, kind: "ConversionReview", response: change(response, review) });
    },
  });
  const api = await startApi();
  t.teardown(async () => {
    await api.close();
    await hook.close();
  });
  const webhook = {
    clientConfig: { url: `https://127.0.0.1:${hook.port}/convert`, caBundle: btoa(pki.ca.cert) },
    conversionReviewVersions: ["v1"],
  };
  const made = await api.ask("POST", crds, crd("v1", { strategy: "Webhook", webhook }));
  t.equal(made.status, 201, made.text);
  await served(api);
  return { api, asked, webhook };
}

type Tap = Pick<typeof t, "teardown" | "equal">;

const text = { type: "string" };
const version = (name: string, storage: string, properties: Json) => ({
  name,
  served: true,
  storage: name === storage,
  schema: { openAPIV3Schema: { type: "object", properties } },
});

const crd = (storage: string, conversion: Json) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "hosts.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "hosts", kind: "Host" },
    conversion,
    versions: [version("v1", storage, { hostPort: text }), version("v2", storage, { host: text, port: text })],
  },
});

async function served(api: TestApi): Promise<void> {
  await until("the definition to be served", async () => (await api.ask("GET", path("v1"))).status === 200);
}

const host = (name: string, more: Json) => ({ kind: "Host", metadata: { name }, ...more });

t.test("get, list, patch and watch show each version what the webhook makes of the stored one", async (t) => {
  const { api, asked } = await withWebhook(t);
  t.equal((await api.ask("POST", path("v1"), host("a", { hostPort: "one:1" }))).status, 201);
  const second = await api.ask("POST", path("v2"), host("b", { host: "two", port: "2" }));
  t.match(second.body, { apiVersion: "example.com/v2", host: "two", port: "2" });
  t.match((await api.ask("GET", `${path("v2")}/a`)).body, { apiVersion: "example.com/v2", host: "one", port: "1" });
  t.match((await api.ask("GET", `${path("v1")}/b`)).body, { apiVersion: "example.com/v1", hostPort: "two:2" });
  const before = asked.length;
  t.match((await api.ask("GET", path("v2"))).body.items, [
    { host: "one", port: "1" },
    { host: "two", port: "2" },
  ]);
  t.equal(asked.length, before, "what was converted is remembered");
  const patched = await api.ask("PATCH", `${path("v2")}/a`, { port: "9" }, mergePatch);
  t.match(patched.body, { host: "one", port: "9" });
  t.equal((await api.ask("GET", `${path("v1")}/a`)).body.hostPort, "one:9");

  const response = await api.server.fetchAs(admin)(new Request(`http://api${path("v2")}?watch=true`));
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let seen = "";
  const events = async (count: number) => {
    while (seen.split("\n").length <= count) seen += new TextDecoder().decode((await reader.read()).value);
    return seen
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  t.match(await events(2), [
    { type: "ADDED", object: { host: "one", port: "9" } },
    { type: "ADDED", object: { host: "two" } },
  ]);
  await api.ask("DELETE", `${path("v1")}/a`);
  t.match((await events(3))[2], { type: "DELETED", object: { apiVersion: "example.com/v2", host: "one", port: "9" } });
  await reader.cancel();
});

t.test("a list of objects stored in several versions is converted by one question", async (t) => {
  const { api, asked, webhook } = await withWebhook(t);
  for (const name of ["a", "b", "c"]) await api.ask("POST", path("v1"), host(name, { hostPort: `${name}:1` }));
  const current = (await api.ask("GET", `${crds}/hosts.example.com`)).body;
  const { spec } = crd("v2", { strategy: "Webhook", webhook });
  t.equal((await api.ask("PUT", `${crds}/hosts.example.com`, { ...current, spec })).status, 200);
  await until("the new version to be stored", async () => {
    const { body } = await api.ask("GET", `${crds}/hosts.example.com`);
    return body.status.storedVersions.length === 2;
  });
  await api.ask("POST", path("v2"), host("d", { host: "d", port: "1" }));
  asked.length = 0;
  const { body } = await api.ask("GET", path("v2"));
  t.same(
    body.items.map((item: Json) => [item.apiVersion, item.host]),
    ["a", "b", "c", "d"].map((name) => ["example.com/v2", name]),
  );
  t.same(
    asked.map(({ apiVersion, request }) => [apiVersion, request.desiredAPIVersion, request.objects.length]),
    [["apiextensions.k8s.io/v1", "example.com/v2", 3]],
  );
});

t.test("what a webhook may not answer is told in upstream's words", async (t) => {
  const rows: { name: string; change: (response: Json) => Json; message: string }[] = [
    {
      name: "a refusal",
      change: () => ({ result: { status: "Failure", message: "not today" } }),
      message: "expected response.uid=",
    },
    {
      name: "its own words",
      change: ({ uid }) => ({ uid, result: { status: "Failure", message: "not today" } }),
      message: "conversion webhook for example.com/v1, Kind=Host failed: not today",
    },
    {
      name: "nothing",
      change: (response) => ({ ...response, convertedObjects: [] }),
      message: "conversion webhook for example.com/v1, Kind=Host returned 0 objects, expected 1",
    },
    {
      name: "another name",
      change: (response) => ({
        ...response,
        convertedObjects: response.convertedObjects.map((one: Json) => ({
          ...one,
          metadata: { ...one.metadata, name: "x" },
        })),
      }),
      message: "returned invalid object: must have the same name: a != x",
    },
    {
      name: "the version it was",
      change: (response) => ({
        ...response,
        convertedObjects: response.convertedObjects.map((one: Json) => ({ ...one, apiVersion: "example.com/v1" })),
      }),
      message: "invalid groupVersion (expected example.com/v2, received example.com/v1)",
    },
  ];
  for (const { name, change, message } of rows)
    await t.test(name, async (t) => {
      const { api } = await withWebhook(t, change);
      await api.ask("POST", path("v1"), host("a", { hostPort: "one:1" }));
      const { status, body } = await api.ask("GET", `${path("v2")}/a`);
      t.equal(status, 500);
      t.ok(body.message.includes(message), body.message);
    });
});

t.test("of the metadata a conversion changes labels and annotations only", async (t) => {
  const { api } = await withWebhook(t, (response) => ({
    ...response,
    convertedObjects: response.convertedObjects.map((one: Json) => ({
      ...one,
      metadata: { ...one.metadata, labels: { made: "up" }, finalizers: ["a.b/c"], generation: 77 },
    })),
  }));
  await api.ask("POST", path("v1"), host("a", { hostPort: "one:1" }));
  const { metadata } = (await api.ask("GET", `${path("v2")}/a`)).body;
  t.match(metadata, { labels: { made: "up" }, generation: 1 });
  t.notOk(metadata.finalizers);
  t.equal((await api.ask("GET", `${path("v2")}?labelSelector=made=up`)).body.items.length, 1);
});

t.test("a definition's conversion is checked", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const rows: [Json, string][] = [
    [
      { strategy: "Magic" },
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ],
    [
      { strategy: "Webhook" },
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    ],
    [
      { strategy: "Webhook", webhook: { clientConfig: {}, conversionReviewVersions: ["v1"] } },
      "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
    ],
    [
      { strategy: "Webhook", webhook: { clientConfig: { url: "http://a/?b" }, conversionReviewVersions: ["v9"] } },
      "'https' is the only allowed URL scheme; desired format: https://host[/path]",
    ],
    [
      { strategy: "None", webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] } },
      "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
    ],
  ];
  for (const [conversion, message] of rows) {
    const { status, body } = await api.ask("POST", crds, crd("v1", conversion));
    t.equal(status, 422);
    t.ok(body.message.includes(message), body.message);
  }
});

t.test("an object that is older than its schema is shown with the defaults and fields of today", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", crds, crd("v1", { strategy: "None" }));
  await served(api);
  await api.ask("POST", path("v1"), host("a", { hostPort: "one:1" }));
  const current = (await api.ask("GET", `${crds}/hosts.example.com`)).body;
  current.spec.versions = [version("v1", "v1", { tier: { ...text, default: "gold" } })];
  t.equal((await api.ask("PUT", `${crds}/hosts.example.com`, current)).status, 200);
  await until("the new schema to be served", async () => {
    const { body } = await api.ask("GET", `${path("v1")}/a`);
    return body.tier === "gold" && !("hostPort" in body);
  });
  t.match((await api.ask("GET", path("v1"))).body.items, [{ tier: "gold" }]);
});
