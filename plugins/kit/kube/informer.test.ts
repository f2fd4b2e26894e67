import t from "tap";
import { FakeApi, failure } from "../../../test/harness/fake-api.ts";
import { ApiClient } from "./client/api-client.ts";
import { FakeClock } from "../base/clock.ts";
import { type InformerEvent, WatchingInformer } from "./informer.ts";
import { type Log, noLog } from "../base/log.ts";
import { resources } from "./objects/resources.ts";
import type { ConfigMap } from "./objects/types.ts";

const collection = "/api/v1/configmaps";
const configMap = (name: string, value = "1", namespace = "shop") => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace },
  data: { value },
});

function start(t: { teardown(end: () => unknown): void }, options: { namespace?: string; log?: Log } = {}) {
  const api = new FakeApi();
  const clock = new FakeClock();
  const client = new ApiClient({ fetch: api.fetch, clock });
  const informer = new WatchingInformer<ConfigMap>({
    client,
    ref: resources.configmaps,
    clock,
    log: noLog,
    ...options,
  });
  const events: string[] = [];
  informer.onEvent((event) => events.push(describe(event)));
  const stop = new AbortController();
  let ended: Promise<void> | undefined;
  const run = () => {
    ended = informer.run({ signal: stop.signal });
  };
  t.teardown(async () => {
    stop.abort();
    await ended;
  });
  return { api, clock, informer, events, run };
}

function describe({ type, object }: InformerEvent<ConfigMap>): string {
  return `${type} ${object.metadata.name}=${object.data?.["value"]}`;
}

/** Lets promises settle until the condition holds, moving the fake clock on when asked. */
async function until(clock: FakeClock, condition: () => boolean, stepMs = 0): Promise<void> {
  for (let i = 0; i < 1000 && !condition(); i++) await clock.advance(stepMs);
  if (!condition()) throw new Error("the condition never came true");
}

t.test("WatchingInformer lists, then follows changes", async (t) => {
  const { api, clock, informer, events, run } = start(t);
  api.put(collection, configMap("a"));
  t.equal(informer.isSynced(), false);
  run();
  await informer.synced;
  t.equal(informer.isSynced(), true);
  await until(clock, () => api.watchers === 1);
  api.put(collection, configMap("b"));
  api.put(collection, { ...configMap("a", "2"), metadata: { ...configMap("a").metadata, uid: "uid-11" } });
  api.remove(collection, "shop", "b");
  await until(clock, () => events.length === 4);
  t.same(events, ["add a=1", "add b=1", "update a=2", "delete b=1"]);
  t.equal(informer.get("shop", "a")?.data?.["value"], "2");
  t.equal(informer.get("shop", "b"), undefined);
  t.equal(informer.list().length, 1);
  t.equal(informer.list("other").length, 0);
});

t.test("WatchingInformer tells a late handler of what is there", async (t) => {
  const { api, informer, run } = start(t);
  api.put(collection, configMap("a"));
  run();
  await informer.synced;
  const late: string[] = [];
  const end = informer.onEvent((event) => late.push(describe(event)));
  t.same(late, ["add a=1"]);
  end();
});

t.test(
  "WatchingInformer resumes from where it was after the watch ends or breaks, without listing again",
  async (t) => {
    const { api, clock, informer, events, run } = start(t);
    run();
    await informer.synced;
    for (const how of ["end", "break"] as const) {
      await until(clock, () => api.watchers === 1, 100);
      api.cutWatches(how);
      api.put(collection, configMap(how));
      await until(clock, () => events.includes(`add ${how}=1`), 500);
    }
    const lists = api.requests.filter((request) => !request.includes("watch=true"));
    t.equal(lists.length, 1);
  },
);

t.test("WatchingInformer resumes from a bookmark", async (t) => {
  const { api, clock, informer, run } = start(t);
  run();
  await informer.synced;
  await until(clock, () => api.watchers === 1);
  api.put("/api/v1/secrets", { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } });
  api.bookmark();
  const marked = api.revision;
  api.cutWatches();
  await until(clock, () => api.watchers === 1, 500);
  t.match(api.requests.at(-1), `resourceVersion=${marked}`);
});

t.test("WatchingInformer lists again after 410 and tells of what it missed", async (t) => {
  const { api, clock, informer, events, run } = start(t);
  api.put(collection, configMap("kept"));
  api.put(collection, configMap("gone"));
  run();
  await informer.synced;
  await until(clock, () => api.watchers === 1);
  api.cutWatches("break");
  api.remove(collection, "shop", "gone");
  api.put(collection, configMap("new"));
  api.compact();
  await until(clock, () => events.includes("add new=1"), 500);
  t.same(events, ["add kept=1", "add gone=1", "add new=1", "delete gone=1"]);
});

t.test("WatchingInformer takes the same name with another uid as a new object", async (t) => {
  const { api, clock, informer, events, run } = start(t);
  api.put(collection, configMap("a"));
  run();
  await informer.synced;
  await until(clock, () => api.watchers === 1);
  api.cutWatches("break");
  api.remove(collection, "shop", "a");
  api.put(collection, configMap("a", "2"));
  api.compact();
  await until(clock, () => events.length === 3, 500);
  t.same(events, ["add a=1", "delete a=1", "add a=2"]);
});

t.test("WatchingInformer backs off while the server is away, and comes back", async (t) => {
  const { api, clock, informer, run } = start(t);
  api.answers.push(...Array.from({ length: 5 }, () => () => failure(500, "InternalError", "no")));
  run();
  await until(clock, () => api.requests.length === 1);
  t.equal(informer.isSynced(), false);
  await until(clock, () => informer.isSynced(), 1000);
  t.ok(api.requests.length >= 6);
});

t.test("WatchingInformer tells once what it may not watch", async (t) => {
  const told: string[] = [];
  const warn = (_: object, text: string) => void told.push(text);
  const { api, clock, informer, run } = start(t, { log: { ...noLog, warn } as Log });
  api.answers.push(...Array.from({ length: 9 }, () => () => failure(403, "Forbidden", "no")));
  run();
  await until(clock, () => informer.isSynced(), 1000);
  t.same(told, ["these may not be watched: what depends on them waits"]);
});

t.test("WatchingInformer survives a handler that throws", async (t) => {
  const { api, clock, informer, events, run } = start(t);
  informer.onEvent(() => {
    throw new Error("mine");
  });
  run();
  await informer.synced;
  await until(clock, () => api.watchers === 1);
  api.put(collection, configMap("a"));
  api.put(collection, configMap("b"));
  await until(clock, () => events.length === 2);
});

t.test("WatchingInformer watches one namespace when told so", async (t) => {
  const { api, clock, informer, events, run } = start(t, { namespace: "shop" });
  run();
  await informer.synced;
  await until(clock, () => api.watchers === 1);
  api.put(collection, configMap("x", "1", "other"));
  api.put(collection, configMap("a"));
  await until(clock, () => events.length === 1);
  t.same(events, ["add a=1"]);
});
