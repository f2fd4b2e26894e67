// What an answer is like: its form by what is accepted, its id, and whether it is sent again to who has it.

import t from "tap";
import { startApi } from "../../test/harness/api-server.ts";

const place = "/api/v1/namespaces/default";

t.test("the preferred form is sent, and none is offered that cannot be had", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const typeFor = async (accept: string) =>
    (await api.ask("GET", place, undefined, { accept })).headers.get("content-type");
  t.equal(await typeFor("application/json;q=0.5, application/yaml;q=0.9"), "application/yaml");
  t.equal(await typeFor("application/json;q=0, application/yaml;q=0.1"), "application/yaml");
  t.equal(await typeFor("application/json;q=x, application/yaml;q=0.5"), "application/yaml");
  t.equal(await typeFor("application/yaml;q=0.5, application/json;q=0.5"), "application/yaml", "else in their order");
  const protobuf = "application/vnd.kubernetes.protobuf";
  t.equal(await typeFor(`${protobuf}, application/json`), "application/json");
  const alone = await api.ask("GET", place, undefined, { accept: protobuf });
  t.equal(alone.status, 406);
  t.notMatch(alone.text, /protobuf/);
});

t.test("every answer has the id of its request", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const idFor = async (path: string, headers: Record<string, string> = {}) =>
    (await api.ask("GET", path, undefined, headers)).headers.get("audit-id");
  for (const path of ["/none", "/healthz", "/api", "/api/v1/pods", `${place}/pods/none`])
    t.match(await idFor(path), /^[0-9a-f-]{36}$/, path);
  t.equal(await idFor(place, { "audit-id": "one-2" }), "one-2");
  t.match(await idFor(place, { "audit-id": "not an id" }), /^[0-9a-f-]{36}$/, "it goes into logs");
});

t.test("a document of the API is sent once, and from its newest state", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const ask = (path: string, headers: Record<string, string> = {}) => api.ask("GET", path, undefined, headers);
  const index = (await ask("/openapi/v3")).body.paths;
  const url: string = index["api/v1"].serverRelativeURL;
  for (const path of ["/openapi/v2", "/openapi/v3/api/v1", url]) {
    const first = await ask(path);
    const etag = first.headers.get("etag") ?? "";
    t.match(etag, /^"[0-9A-F]+"$/, path);
    const again = await ask(path, { "if-none-match": etag });
    t.equal(again.status, 304);
    t.equal(again.text, "");
    t.equal(again.headers.get("etag"), etag);
    t.equal((await ask(path, { "if-none-match": '"OTHER"' })).status, 200);
  }
  t.equal((await ask(url)).headers.get("cache-control"), "public, immutable");
  const stale = await ask("/openapi/v3/api/v1?hash=OTHER");
  t.equal(stale.status, 301);
  t.equal(stale.headers.get("location"), url);
});
