import fc from "fast-check";
import t from "tap";
import { FakeApi, failure } from "../../../../test/harness/fake-api.ts";
import { uninterrupted } from "../../base/call.ts";
import { FakeClock } from "../../base/clock.ts";
import { resources } from "../objects/resources.ts";
import type { ConfigMap } from "../objects/types.ts";
import { ApiClient } from "./api-client.ts";
import { jsonLines } from "./watch-lines.ts";

function start() {
  const api = new FakeApi();
  const clock = new FakeClock();
  return { api, clock, client: new ApiClient({ fetch: api.fetch, clock }) };
}
const call = uninterrupted;
const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "shop" },
  data,
});

t.test("ApiClient creates, gets, updates, patches, lists and deletes", async (t) => {
  const { client, api } = start();
  await client.create(resources.configmaps, configMap("a", { x: "1" }), call);
  const got = await client.get<ConfigMap>(resources.configmaps, { namespace: "shop", name: "a" }, call);
  t.same(got.data, { x: "1" });
  await client.update(resources.configmaps, { ...got, data: { x: "2" } }, call);
  await client.patch(
    resources.configmaps,
    { namespace: "shop", name: "a" },
    { type: "merge", body: { data: { y: "3" } }, fieldManager: "me", force: true },
    call,
  );
  const list = await client.list<ConfigMap>(
    resources.configmaps,
    { namespace: "shop", labelSelector: "a in (b)" },
    call,
  );
  t.same(list.items[0]?.data, { x: "2", y: "3" });
  t.ok(api.requests.includes("GET /api/v1/namespaces/shop/configmaps?labelSelector=a%20in%20(b)"));
  t.ok(api.requests.includes("PATCH /api/v1/namespaces/shop/configmaps/a?fieldManager=me&force=true"));
  await client.delete(resources.configmaps, { namespace: "shop", name: "a" }, call, { gracePeriodSeconds: 0 });
  t.equal(api.objects("/api/v1/configmaps").length, 0);
});

t.test("ApiClient.listAll() fetches every page", async (t) => {
  const { client, api } = start();
  for (let i = 0; i < 7; i++) api.put("/api/v1/configmaps", configMap(`c${i}`));
  const list = await client.listAll<ConfigMap>(resources.configmaps, { limit: 3 }, call);
  t.same(
    list.items.map((item) => item.metadata.name),
    ["c0", "c1", "c2", "c3", "c4", "c5", "c6"],
  );
  t.equal(list.metadata.continue, undefined);
  t.equal(api.requests.length, 3);
});

t.test("ApiClient fills in the type that list items travel without", async (t) => {
  const { client, api } = start();
  api.answers.push(() => Response.json({ metadata: { resourceVersion: "1" }, items: [{ metadata: { name: "a" } }] }));
  const list = await client.list<ConfigMap>(resources.configmaps, {}, call);
  t.match(list.items[0], { apiVersion: "v1", kind: "ConfigMap" });
  api.answers.push(() => Response.json({ metadata: {}, items: null }));
  t.same((await client.list(resources.configmaps, {}, call)).items, []);
});

for (const [status, reason, code] of [
  [404, "NotFound", "not-found"],
  [409, "AlreadyExists", "already-exists"],
  [409, "Conflict", "conflict"],
  [410, "Expired", "expired"],
  [422, "Invalid", "invalid"],
  [403, "Forbidden", "forbidden"],
  [401, "Unauthorized", "unauthorized"],
  [429, "TooManyRequests", "too-many"],
  [503, "ServiceUnavailable", "unavailable"],
  [500, "InternalError", "internal"],
] as const) {
  t.test(`ApiClient turns ${status} ${reason} into Fault ${code}`, async (t) => {
    const { client, api } = start();
    api.answers.push(() => failure(status, reason, "why"));
    await t.rejects(client.get(resources.nodes, { name: "pi" }, call), {
      code,
      message: "why",
      details: { kind: "Status", reason, code: status },
    });
  });
}

t.test("ApiClient makes a Fault of an answer that is no Status, and of no answer", async (t) => {
  const { client, api } = start();
  api.answers.push(() => new Response("<html>bad gateway</html>", { status: 502 }));
  await t.rejects(client.get(resources.nodes, { name: "pi" }, call), { code: "unavailable", message: /bad gateway/ });
  api.answers.push(() => new Response("not json"));
  await t.rejects(client.get(resources.nodes, { name: "pi" }, call), { code: "unavailable" });
  const dead = new ApiClient({ fetch: () => Promise.reject(new Error("connection refused")) });
  await t.rejects(dead.get(resources.nodes, { name: "pi" }, call), {
    code: "unavailable",
    message: /connection refused/,
  });
});

t.test("ApiClient waits as long as Retry-After says, and tries ten times at most", async (t) => {
  const { client, api, clock } = start();
  api.put("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "pi" } });
  const busy = () => failure(429, "TooManyRequests", "busy", { "retry-after": "3" });
  api.answers.push(busy, busy);
  const got = client.get(resources.nodes, { name: "pi" }, call);
  await clock.advance(3000);
  t.equal(api.requests.length, 2);
  await clock.advance(3000);
  t.match(await got, { metadata: { name: "pi" } });
  api.answers.push(...Array.from({ length: 20 }, () => busy));
  const refused = t.rejects(client.get(resources.nodes, { name: "pi" }, call), { code: "too-many" });
  await clock.advance(60_000);
  await refused;
  t.equal(api.requests.length, 3 + 10);
});

t.test("ApiClient stops waiting when told", async (t) => {
  const { client, api, clock } = start();
  api.answers.push(() => failure(503, "ServiceUnavailable", "later", { "retry-after": "9" }));
  const stop = new AbortController();
  const got = t.rejects(client.get(resources.nodes, { name: "pi" }, { signal: stop.signal }), { code: "timeout" });
  await clock.advance(0);
  stop.abort();
  await got;
  t.equal(clock.pending, 0);
});

t.test("ApiClient.watch() yields events, and throws an ERROR event as a Fault", async (t) => {
  const { client, api } = start();
  const status = JSON.stringify({
    type: "ERROR",
    object: { kind: "Status", code: 410, reason: "Expired", message: "gone" },
  });
  api.answers.push(() => new Response(`{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n\n${status}\n`));
  const seen: string[] = [];
  const read = async () => {
    for await (const event of client.watch<ConfigMap>(
      resources.configmaps,
      { resourceVersion: "5", allowBookmarks: true, timeoutSeconds: 9 },
      call,
    ))
      seen.push(event.object.metadata.name ?? "");
  };
  await t.rejects(read(), { code: "expired", message: "gone" });
  t.same(seen, ["a"]);
  t.equal(
    api.requests[0],
    "GET /api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=9",
  );
});

t.test("ApiClient.watch() lets go of the connection when its reader leaves", async (t) => {
  const { client, api } = start();
  api.put("/api/v1/configmaps", configMap("a"));
  for await (const event of client.watch<ConfigMap>(resources.configmaps, { resourceVersion: "0" }, call)) {
    t.equal(event.type, "ADDED");
    break;
  }
  t.equal(api.watchers, 0);
});

async function* chunksOf(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

t.test("jsonLines() gives the same values however the bytes are cut", async () => {
  const values = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(values, fc.array(fc.nat(9), { maxLength: 40 }), async (list, sizes) => {
      const bytes = new TextEncoder().encode(list.map((value) => `${JSON.stringify(value)}\n`).join(""));
      const read = [];
      for await (const value of jsonLines(chunksOf(bytes, sizes))) read.push(value);
      return JSON.stringify(read) === JSON.stringify(list);
    }),
  );
});

t.test("jsonLines() refuses a line without end and tells a stream that broke off", async (t) => {
  const drain = async (text: string, longest: number) => {
    for await (const value of jsonLines(chunksOf(new TextEncoder().encode(text), [4, 4, 4]), longest)) t.ok(value);
  };
  await t.rejects(drain("x".repeat(100), 20), { code: "invalid" });
  await t.rejects(drain('{"a":1}\n{"b":', 1000), { code: "unavailable" });
});
