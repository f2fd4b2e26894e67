// The API on a real etcd that others use too: their keys move its revision and must not hold anyone up.

import t, { type Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { openEtcdStore } from "../../plugins/store/etcd.ts";
import { type Json, startApi } from "../harness/api-server.ts";
import { noEtcd, startEtcd } from "../harness/etcd.ts";
import { until } from "../harness/until.ts";

const merge = { "content-type": "application/merge-patch+json" };
const configMaps = "/api/v1/namespaces/default/configmaps";

async function openServer(t: Test, url: string, through = (store: Store) => store) {
  const store = through(await openEtcdStore({ endpoints: [url], clock: systemClock, log: noLog }, call));
  const api = await startApi({ store });
  t.teardown(async () => {
    await api.close();
    await store.close();
  });
  return { store, api };
}

t.test("two API servers on one etcd see each other's writes", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const open = () => openServer(t, member?.url ?? "");
  const one = await open();
  const two = await open();
  await one.store.put("/others/key", Buffer.from("x"), "any", call);
  const made = await one.api.ask("POST", configMaps, { metadata: { name: "a" }, data: { x: "1" } });
  t.equal(made.status, 201);
  await one.store.put("/others/key", Buffer.from("y"), "any", call);
  t.equal((await one.api.ask("GET", `${configMaps}/a`)).status, 200, "others' keys hold nobody up");
  const version = made.body.metadata.resourceVersion;
  const seen = await two.api.ask("GET", `${configMaps}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`);
  t.equal(seen.body.items.length, 1, "asked for by its version, a write of another server is waited for");
  const changed = await two.api.ask("PUT", `${configMaps}/a`, { ...made.body, data: { x: "2" } });
  t.equal(changed.status, 200);
  const stale = await one.api.ask("PUT", `${configMaps}/a`, { ...made.body, data: { x: "3" } });
  t.equal(stale.status, 409, "a lost race is told, not overwritten");
});

t.test("readyz and livez fail while etcd is dead, and recover with it", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api } = await openServer(t, member?.url ?? "");
  const statuses = () => Promise.all(["/readyz", "/livez"].map(async (path) => (await api.ask("GET", path)).status));
  t.same(await statuses(), [200, 200]);
  await member?.kill();
  await until("both to fail", async () => (await statuses()).every((status) => status === 500));
  t.match((await api.ask("GET", "/livez/etcd")).text, /^internal server error: /);
  t.equal((await api.ask("GET", "/livez?exclude=etcd")).text, "ok");
  member?.start();
  await until("both to pass", async () => (await statuses()).every((status) => status === 200));
});

t.test("what one server has answered, another shows at once", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api: one, store } = await openServer(t, member?.url ?? "");
  const { api: two } = await openServer(t, member?.url ?? "");
  const at = `${configMaps}/a`;
  const rounds = Array.from({ length: 150 }, (_, round) => round);
  const stale = { get: 0, list: 0, table: 0, initial: 0, put: 0, patch: 0, same: 0, conflict: 0, gone: 0, remove: 0 };
  const count = (what: keyof typeof stale, isFresh: boolean) => {
    if (!isFresh) stale[what]++;
  };
  const names = (list: Json) => list.items.map(({ metadata }: Json) => metadata.name).sort();
  for (const round of rounds) {
    // Keys of others move the revision between ours, in some rounds right before the read.
    if (round % 3 === 0) await store.put("/others/key", Buffer.from(String(round)), "any", call);
    const made = await one.ask("POST", configMaps, { metadata: { name: "a" }, data: { round: String(round) } });
    t.equal(made.status, 201);
    if (round % 25 === 0) await store.put("/others/key", Buffer.from(`${round} again`), "any", call);
    const [got, listed, table] = await Promise.all([
      two.ask("GET", at),
      two.ask("GET", `${configMaps}?limit=1`),
      two.ask("GET", configMaps, undefined, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }),
    ]);
    count("get", got.body.data?.round === String(round));
    count("list", listed.body.items[0]?.data?.round === String(round));
    count("table", table.body.rows.length === round + 1);
    const put = await two.ask("PUT", at, { ...made.body, data: { by: "two" } });
    count("put", put.status === 200);
    const patched = await one.ask("PATCH", at, { data: { by: null, next: String(round) } }, merge);
    count("patch", patched.status === 200 && patched.body.data.by === undefined);
    // Against what stood there before, this changes nothing.
    const back = await two.ask("PATCH", at, { data: { by: "two", next: null } }, merge);
    count("same", back.body.metadata.resourceVersion !== put.body.metadata.resourceVersion);
    const exact = { metadata: { resourceVersion: back.body.metadata.resourceVersion }, data: { last: "one" } };
    count("conflict", (await one.ask("PATCH", at, exact, merge)).status === 200);
    count("remove", (await two.ask("DELETE", at)).status === 200);
    count("gone", (await one.ask("GET", at)).status === 404);
    const more = await two.ask("POST", configMaps, { metadata: { name: `b-${round}` } });
    t.equal(more.status, 201);
    const watch = `${configMaps}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`;
    if (round % 50 === 0) count("initial", (await one.ask("GET", watch)).text.includes(`"b-${round}"`));
  }
  t.strictSame(stale, {
    get: 0,
    list: 0,
    table: 0,
    initial: 0,
    put: 0,
    patch: 0,
    same: 0,
    conflict: 0,
    gone: 0,
    remove: 0,
  });
  t.strictSame(names((await one.ask("GET", configMaps)).body), rounds.map((round) => `b-${round}`).sort());
  t.equal(
    (await two.ask("DELETE", configMaps)).body.items.length,
    rounds.length,
    "a collection is deleted as it is now",
  );
});

t.test("a version told by a server that began later is waited for", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api: one, store } = await openServer(t, member?.url ?? "");
  await store.put("/others/key", Buffer.from("x"), "any", call);
  const { api: two } = await openServer(t, member?.url ?? "");
  const { resourceVersion } = (await two.ask("GET", configMaps)).body.metadata;
  const list = `${configMaps}?resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`;
  t.equal((await one.ask("GET", list)).status, 200, "although it is of a key of others");
  t.equal(
    (await one.ask("GET", `${configMaps}?resourceVersion=99999999`)).status,
    504,
    "one of the future is not there",
  );
});

t.test("what one server has given out, another does not give out again", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api: one } = await openServer(t, member?.url ?? "");
  const { api: two } = await openServer(t, member?.url ?? "");
  const services = "/api/v1/namespaces/default/services";
  const service = (name: string, nodePort: number, type = "NodePort") => ({
    metadata: { name },
    spec: { type, ports: [{ port: 80, ...(type === "NodePort" ? { nodePort } : {}) }] },
  });
  const answers: number[] = [];
  for (let round = 0; round < 50; round++) {
    const made = await one.ask("POST", services, service(`a-${round}`, 30_000 + round));
    answers.push(made.status);
    const { clusterIP } = made.body.spec;
    const sameAddress = { metadata: { name: `c-${round}` }, spec: { clusterIP, ports: [{ port: 80 }] } };
    answers.push((await two.ask("POST", services, sameAddress)).status);
    answers.push((await two.ask("POST", services, service(`b-${round}`, 30_000 + round))).status);
  }
  t.strictSame(new Set(answers.filter((_, index) => index % 3 === 0)), new Set([201]));
  t.strictSame(new Set(answers.filter((_, index) => index % 3 !== 0)), new Set([422]));
});

/** The same store, of whose changes it is told late. */
function lagging(store: Store): Store {
  const watch: Store["watch"] = async function* (...args) {
    for await (const events of store.watch(...args)) {
      await systemClock.sleep(200, call);
      yield events;
    }
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "watch") return watch;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

t.test("a resource that one server was told to serve, another serves at once", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api: one } = await openServer(t, member?.url ?? "");
  const { api: two } = await openServer(t, member?.url ?? "", lagging);
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const rule = { "x-kubernetes-validations": [{ rule: "self.metadata.name != 'b'" }] };
  for (const [plural, more] of Object.entries({ apes: {}, bears: rule })) {
    const schema = { openAPIV3Schema: { type: "object", ...more } };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const names = { plural, kind: plural.toUpperCase() };
    const spec = { group: "example.com", scope: "Namespaced", names, versions };
    await one.ask("POST", crds, { metadata: { name: `${plural}.example.com` }, spec });
    const conditions = async () => (await one.ask("GET", `${crds}/${plural}.example.com`)).body.status.conditions;
    await until("it to be served by the first", async () =>
      (await conditions())?.some(({ type, status }: Json) => type === "Established" && status === "True"),
    );
    const made = await two.ask("POST", `/apis/example.com/v1/namespaces/default/${plural}`, {
      apiVersion: "example.com/v1",
      kind: names.kind,
      metadata: { name: "a" },
    });
    t.equal(made.status, 201, made.text);
  }
  t.equal((await two.ask("GET", "/apis/example.com/v1/namespaces/default/nothing")).status, 404);
});

t.test("nothing is made in a namespace that another server has emptied", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api: one, store } = await openServer(t, member?.url ?? "");
  const { api: two } = await openServer(t, member?.url ?? "", lagging);
  for (const name of ["going", "gone", "changed"]) await one.ask("POST", "/api/v1/namespaces", { metadata: { name } });
  await until("both to know them", async () => (await two.ask("GET", "/api/v1/namespaces")).body.items.length === 3);
  const make = (name: string) =>
    two.ask("POST", `/api/v1/namespaces/${name}/configmaps`, { metadata: { name: "late" } });
  const end = async (name: string) => {
    const { body } = await one.ask("DELETE", `/api/v1/namespaces/${name}`);
    return { ...body, spec: { finalizers: [] } };
  };
  await end("going");
  const refused = await make("going");
  t.equal(refused.status, 403);
  t.match(
    refused.body.message,
    'configmaps "late" is forbidden: unable to create new content in namespace going because it is being terminated',
  );
  const finalized = await one.ask("PUT", "/api/v1/namespaces/gone/finalize", await end("gone"));
  t.equal(finalized.status, 200, finalized.text);
  const missing = await make("gone");
  t.strictSame([missing.status, missing.body.message], [404, 'namespaces "gone" not found']);
  await one.ask("PATCH", "/api/v1/namespaces/changed", { metadata: { labels: { a: "b" } } }, merge);
  t.equal((await make("changed")).status, 201, "one that only changed is no reason");
  const { entries } = await store.list("/registry/core/configmaps/", {}, call);
  t.strictSame(
    entries.map(({ key }) => key),
    ["/registry/core/configmaps/changed/late"],
  );
});

t.test("a definition that goes takes what another server made of it meanwhile along", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const { api: one, store } = await openServer(t, member?.url ?? "");
  const { api: two } = await openServer(t, member?.url ?? "", lagging);
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
  const spec = { group: "example.com", scope: "Namespaced", names: { plural: "apes", kind: "Ape" }, versions };
  await one.ask("POST", crds, { metadata: { name: "apes.example.com" }, spec });
  const apes = "/apis/example.com/v1/namespaces/default/apes";
  await until("both to serve it", async () => (await two.ask("GET", apes)).status === 200);
  await one.ask("DELETE", `${crds}/apes.example.com`);
  const late = { apiVersion: "example.com/v1", kind: "Ape", metadata: { name: "late" } };
  t.equal((await two.ask("POST", apes, late)).status, 201, "it has not heard of it");
  await until("it to be gone", async () => (await one.ask("GET", `${crds}/apes.example.com`)).status === 404);
  t.strictSame((await store.list("/registry/example.com/", {}, call)).entries, []);
});
