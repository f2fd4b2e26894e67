// The API path as clients meet it, over fetch in the same process.

import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { type Json, startApi } from "../../test/harness/api-server.ts";

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: "main", image: "busybox" }] },
});

const pods = "/api/v1/namespaces/default/pods";
const configMaps = "/api/v1/namespaces/default/configmaps";

t.test("create() stamps the object, fills defaults and answers with what is stored", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body } = await api.ask("POST", pods, pod("web"));
  t.equal(status, 201);
  t.match(body.metadata, { name: "web", namespace: "default", uid: /-/, resourceVersion: /^\d+$/ });
  t.match(body.spec, { restartPolicy: "Always", containers: [{ imagePullPolicy: "Always" }] });
  t.match(body.status, { phase: "Pending", qosClass: "BestEffort" });
  const got = await api.ask("GET", `${pods}/web`);
  t.same(got.body, body);
  const again = await api.ask("POST", pods, pod("web"));
  t.match(again.body, { status: "Failure", reason: "AlreadyExists", code: 409, message: 'pods "web" already exists' });
});

t.test("create() gives a status that typed clients can read, which the maker does not own", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { selector: { matchLabels: { a: "b" } }, template };
  const make = (plural: string) =>
    api.ask("POST", `/apis/apps/v1/namespaces/default/${plural}`, { metadata: { name: "x" }, spec });
  const sets = (await make("daemonsets")).body;
  t.same(sets.status, {
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
  });
  t.notOk(JSON.stringify(sets.metadata.managedFields).includes("f:status"));
  t.same((await make("deployments")).body.status, {});
});

t.test("create() makes a name from generateName", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { body } = await api.ask("POST", configMaps, { metadata: { generateName: "made-" } });
  t.match(body.metadata.name, /^made-[a-z0-9]{5}$/);
  t.equal(body.kind, "ConfigMap");
});

t.test("create() refuses an invalid pod with upstream's words", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body } = await api.ask("POST", pods, {
    ...pod("Bad_Name"),
    spec: { containers: [{ image: "busybox" }] },
  });
  t.equal(status, 422);
  t.equal(body.reason, "Invalid");
  t.match(
    body.message,
    /^Pod "Bad_Name" is invalid: \[metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123/,
  );
  t.match(body.details.causes.at(-1), {
    reason: "FieldValueRequired",
    message: "Required value",
    field: "spec.containers[0].name",
  });
});

t.test("update() is refused when the object has moved on", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { body: first } = await api.ask("POST", configMaps, { metadata: { name: "c" }, data: { a: "1" } });
  const changed = await api.ask("PUT", `${configMaps}/c`, { ...first, data: { a: "2" } });
  t.equal(changed.status, 200);
  t.not(changed.body.metadata.resourceVersion, first.metadata.resourceVersion);
  const stale = await api.ask("PUT", `${configMaps}/c`, { ...first, data: { a: "3" } });
  t.equal(stale.status, 409);
  t.equal(
    stale.body.message,
    'Operation cannot be fulfilled on configmaps "c": the object has been modified; please apply your changes to the latest version and try again',
  );
  const same = await api.ask("PUT", `${configMaps}/c`, changed.body);
  t.equal(same.body.metadata.resourceVersion, changed.body.metadata.resourceVersion, "no change, no new version");
});

t.test("patch() applies merge, JSON and strategic patches", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", configMaps, { metadata: { name: "c" }, data: { a: "1", b: "2" } });
  const patch = (type: string, body: unknown) =>
    api.ask("PATCH", `${configMaps}/c`, body, { "content-type": `application/${type}` });
  t.same((await patch("merge-patch+json", { data: { a: null, c: "3" } })).body.data, { b: "2", c: "3" });
  t.same((await patch("json-patch+json", [{ op: "replace", path: "/data/b", value: "x" }])).body.data.b, "x");
  t.same((await patch("strategic-merge-patch+json", { data: { d: "4" } })).body.data, { b: "x", c: "3", d: "4" });
  t.equal((await patch("json", {})).status, 415);
});

t.test("patch() of a deployment's status leaves its labels be", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  await api.ask("POST", deployments, {
    metadata: { name: "web", labels },
    spec: { selector: { matchLabels: labels }, template },
  });
  const body = { metadata: { labels: { app: "other" } }, status: { replicas: 1, readyReplicas: 1 } };
  const patched = await api.ask("PATCH", `${deployments}/web/status`, body, {
    "content-type": "application/merge-patch+json",
  });
  t.match(patched, { status: 200, body: { metadata: { labels }, status: { readyReplicas: 1 } } });
});

t.test("list() pages through one snapshot", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const name of ["a", "b", "c", "d", "e"]) await api.ask("POST", configMaps, { metadata: { name } });
  const first = await api.ask("GET", `${configMaps}?limit=2`);
  t.same(
    first.body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["a", "b"],
  );
  t.equal(first.body.metadata.remainingItemCount, 3);
  await api.ask("DELETE", `${configMaps}/c`);
  await api.ask("POST", configMaps, { metadata: { name: "cc" } });
  const token = encodeURIComponent(first.body.metadata.continue);
  const second = await api.ask("GET", `${configMaps}?limit=10&continue=${token}`);
  t.same(
    second.body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["c", "d", "e"],
  );
  t.equal(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
});

t.test("list() goes on over a newer state when its snapshot is gone", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const namesOf = ({ body }: { body: Json }) => body.items.map((item: Json) => item.metadata.name);
  const page = (token: string) => api.ask("GET", `${configMaps}?limit=2&continue=${encodeURIComponent(token)}`);
  for (const name of ["a", "b", "c", "d"]) await api.ask("POST", configMaps, { metadata: { name } });
  const first = await api.ask("GET", `${configMaps}?limit=2`);
  await api.ask("DELETE", `${configMaps}/c`);
  // Enough other pictures that this one is forgotten, and no history to take it from.
  for (let index = 0; index < 10; index++) {
    await api.ask("POST", configMaps, { metadata: { name: `x${index}` } });
    await api.ask("GET", `${configMaps}?limit=1`);
  }
  await api.store.compact(api.store.revision, { signal: AbortSignal.timeout(10_000) });
  const late = await page(first.body.metadata.continue);
  t.equal(late.status, 410);
  t.match(late.body, { kind: "Status", reason: "Expired", metadata: { continue: /./ } });
  const next = await page(late.body.metadata.continue);
  t.same(namesOf(next), ["d", "x0"], "what is left, as it is now");
  t.same(namesOf(await page(next.body.metadata.continue)), ["x1", "x2"], "and that picture holds");
});

t.test("list() lets a snapshot go after five minutes, however often it is asked for", async (t) => {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  for (const name of ["a", "b", "c", "d"]) await api.ask("POST", configMaps, { metadata: { name } });
  const first = await api.ask("GET", `${configMaps}?limit=1`);
  const page = (token: string) => api.ask("GET", `${configMaps}?limit=1&continue=${encodeURIComponent(token)}`);
  let { status, body } = first;
  for (let minute = 1; minute <= 6 && status === 200; minute++) {
    await clock.advance(60_000);
    ({ status, body } = await page(first.body.metadata.continue));
  }
  t.equal(status, 410);
  t.equal((await page(body.metadata.continue)).body.items[0].metadata.name, "b", "the rest can still be had");
});

t.test("list() selects by labels and fields", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const name of ["a", "b"]) await api.ask("POST", pods, pod(name));
  const names = async (query: string) =>
    (await api.ask("GET", `${pods}?${query}`)).body.items.map(
      (item: { metadata: { name: string } }) => item.metadata.name,
    );
  t.same(await names("labelSelector=app%3Da"), ["a"]);
  t.same(await names("fieldSelector=metadata.name%3Db"), ["b"]);
  t.same(await names("fieldSelector=spec.nodeName%3D"), ["a", "b"]);
  t.equal((await api.ask("GET", `${pods}?fieldSelector=spec.nope%3Dx`)).status, 400);
});

t.test("delete() waits for finalizers and grace", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", configMaps, { metadata: { name: "held", finalizers: ["example.com/hold"] } });
  const begun = await api.ask("DELETE", `${configMaps}/held`);
  t.ok(begun.body.metadata.deletionTimestamp);
  await api.ask(
    "PATCH",
    `${configMaps}/held`,
    { metadata: { finalizers: null } },
    { "content-type": "application/merge-patch+json" },
  );
  t.equal((await api.ask("GET", `${configMaps}/held`)).status, 404);

  await api.ask("POST", pods, pod("web"));
  await api.ask("POST", `${pods}/web/binding`, { metadata: { name: "web" }, target: { kind: "Node", name: "n1" } });
  const graceful = await api.ask("DELETE", `${pods}/web`);
  t.equal(graceful.body.metadata.deletionGracePeriodSeconds, 30);
  t.equal((await api.ask("GET", `${pods}/web`)).body.spec.nodeName, "n1");
  const now = await api.ask("DELETE", `${pods}/web`, { gracePeriodSeconds: 0 });
  t.equal(now.status, 200);
  t.equal((await api.ask("GET", `${pods}/web`)).status, 404);
});

t.test("watch() streams changes from a version on, and entering or leaving a selector", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { body: list } = await api.ask("GET", configMaps);
  const fetch = api.server.fetchAs({ name: "x", groups: [] });
  const response = await fetch(
    new Request(
      `http://api${configMaps}?watch=true&labelSelector=in%3Dyes&resourceVersion=${list.metadata.resourceVersion}`,
    ),
  );
  await api.ask("POST", configMaps, { metadata: { name: "a", labels: { in: "no" } } });
  const patch = (labels: unknown) =>
    api.ask("PATCH", `${configMaps}/a`, { metadata: { labels } }, { "content-type": "application/merge-patch+json" });
  await patch({ in: "yes" });
  await patch({ in: "yes", more: "x" });
  await patch({ in: "no" });
  const seen: string[] = [];
  let text = "";
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += new TextDecoder().decode(chunk);
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) seen.push(JSON.parse(line).type);
    if (seen.length >= 3) break;
  }
  t.same(seen, ["ADDED", "MODIFIED", "DELETED"]);
});

t.test("services get an address of their own at once", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const services = "/api/v1/namespaces/default/services";
  const make = (name: string, more = {}) =>
    api.ask("POST", services, { metadata: { name }, spec: { ports: [{ port: 80 }], selector: { app: "x" }, ...more } });
  const [a, b] = await Promise.all([make("a"), make("b", { type: "NodePort" })]);
  t.match(a.body.spec, { clusterIP: /^10\.43\./, type: "ClusterIP", ports: [{ targetPort: 80, protocol: "TCP" }] });
  t.not(a.body.spec.clusterIP, b.body.spec.clusterIP);
  t.ok(b.body.spec.ports[0].nodePort >= 30000);
  const taken = await make("c", { clusterIP: a.body.spec.clusterIP });
  t.match(taken.body.message, /provided IP is already allocated/);
  await api.ask("DELETE", `${services}/a`);
  t.equal((await make("c", { clusterIP: a.body.spec.clusterIP })).status, 201);
});

t.test("a version that is not there yet is told as such", async (t) => {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  const before = clock.pending;
  const asked = api.ask("GET", `${configMaps}?resourceVersion=999999&resourceVersionMatch=NotOlderThan`);
  while (clock.pending === before) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(3000);
  const { body } = await asked;
  t.match(body, { code: 504, reason: "Timeout", details: { causes: [{ reason: "ResourceVersionTooLarge" }] } });
});

t.test("discovery speaks both dialects", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  t.match((await api.ask("GET", "/api")).body, { kind: "APIVersions", versions: ["v1"] });
  const aggregated = await api.ask("GET", "/apis", undefined, {
    accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
  });
  t.equal(aggregated.body.kind, "APIGroupDiscoveryList");
  t.equal(
    aggregated.headers.get("content-type"),
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  );
  const legacy = (await api.ask("GET", "/api/v1")).body.resources.map((one: { name: string }) => one.name);
  t.ok(legacy.includes("pods") && legacy.includes("pods/binding") && legacy.includes("pods/status"));
  t.equal((await api.ask("GET", "/readyz")).text, "ok");
  t.equal((await api.ask("GET", "/nope")).status, 404);
});

t.test("/metrics/slis counts what the health checks said", async (t) => {
  const oven = { trouble: undefined as string | undefined };
  const api = await startApi({ healthChecks: [{ name: "oven", check: () => oven.trouble }] });
  t.teardown(() => api.close());
  const figures = async () =>
    (await api.ask("GET", "/metrics/slis")).text.split("\n").filter((line) => line.includes('{name="oven"'));
  t.same(await figures(), []);
  t.match((await api.ask("GET", "/metrics/slis")).text, /^process_start_time_seconds \d+/m, "never empty");
  await api.ask("GET", "/livez");
  await api.ask("GET", "/readyz?verbose");
  t.equal((await api.ask("GET", "/readyz/oven")).text, "ok");
  oven.trouble = "it is cold";
  t.equal((await api.ask("GET", "/readyz")).status, 500);
  await api.ask("GET", "/readyz?exclude=oven");
  t.same(await figures(), [
    'kubernetes_healthcheck{name="oven",type="livez"} 1',
    'kubernetes_healthcheck{name="oven",type="readyz"} 0',
    'kubernetes_healthchecks_total{name="oven",status="success",type="livez"} 1',
    'kubernetes_healthchecks_total{name="oven",status="success",type="readyz"} 1',
    'kubernetes_healthchecks_total{name="oven",status="error",type="readyz"} 1',
  ]);
});
