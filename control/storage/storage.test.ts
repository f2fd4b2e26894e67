// The watch cache and writes through it, on the memory store.

import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { type Clock, FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { memoryStore } from "../../plugins/store/memory.ts";
import { Informers } from "./cache-informer.ts";
import { expireEvents } from "./event-expiry.ts";
import { splitKey, storageKey } from "./keys.ts";
import { ObjectStorage } from "./object-storage.ts";
import { type CacheEvent, inNamespace } from "./resource-cache.ts";
import type { Transformer } from "./transformer.ts";
import { WatchCache } from "./watch-cache.ts";

const ref = { group: "", plural: "configmaps" };

const object = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns", uid: "u", annotations: { text: 'a "quoted\\" brace }' } },
  data,
});

async function open(
  t: { teardown(then: () => unknown): unknown },
  store: Store = memoryStore(),
  transformers: Transformer[] = [],
  clock: Clock = systemClock,
) {
  const stop = new AbortController();
  const cache = new WatchCache({ store, clock, log: noLog, transformers });
  await cache.load(call);
  const following = cache.follow({ signal: stop.signal });
  t.teardown(async () => {
    stop.abort();
    await following;
  });
  return { cache, store, storage: new ObjectStorage(store, cache) };
}

t.test("keys name a resource and an object in it", async (t) => {
  t.equal(storageKey(ref, "ns", "a"), "/registry/core/configmaps/ns/a");
  t.equal(storageKey({ group: "", plural: "nodes" }, "", "n"), "/registry/core/nodes/n");
  t.same(splitKey("/registry/apps/deployments/ns/web"), { id: "apps/deployments", local: "ns/web" });
  t.equal(splitKey("/elsewhere"), undefined);
});

t.test("ObjectStorage.create() answers with what the cache shows, once", async (t) => {
  const { cache, storage } = await open(t);
  const created = await storage.create(ref, "ns", "a", object("a", { x: "1" }), call);
  const entry = created.ok ? created.entry : undefined;
  t.equal(cache.cache(ref).get("ns/a"), entry);
  t.equal(entry?.object.metadata.resourceVersion, String(entry?.revision));
  t.same(JSON.parse(entry?.wire().toString() ?? ""), entry?.copy());
  const { from, to } = entry?.metadataRange() ?? { from: 0, to: 0 };
  const { resourceVersion: _, ...metadata } = entry?.object.metadata ?? {};
  t.same(JSON.parse(`{${entry?.value.toString("utf8", from, to)}`), metadata);
  t.same(await storage.create(ref, "ns", "a", object("a"), call), { ok: false, lostTo: "name" });
});

t.test("ObjectStorage.update() loses no change of concurrent writers", async (t) => {
  const { storage } = await open(t);
  await storage.create(ref, "ns", "counter", object("counter", { n: "0" }), call);
  const add = () =>
    storage.update(
      ref,
      "ns",
      "counter",
      (current) => {
        const next = current.copy() as KubeObject & { data: { n: string } };
        next.data.n = String(Number(next.data.n) + 1);
        return { do: "put", object: next };
      },
      call,
    );
  await Promise.all(Array.from({ length: 20 }, add));
  const { entry } = (await storage.update(ref, "ns", "counter", () => ({ do: "nothing" }), call)) ?? {};
  t.same(entry?.object.data, { n: "20" });
  const before = entry?.revision;
  const same = await storage.update(ref, "ns", "counter", (current) => ({ do: "put", object: current.copy() }), call);
  t.equal(same?.entry.revision, before, "a write of the same is none");
  t.equal(await storage.update(ref, "ns", "nobody", () => ({ do: "delete" }), call), undefined);
});

t.test("ObjectStorage.update() tries on while others are quicker, until the caller gives up", async (t) => {
  const { storage } = await open(t);
  await storage.create(ref, "ns", "a", object("a"), call);
  let rivals = 0;
  const write = (text: string, overtaken: () => Promise<unknown>, of: { signal: AbortSignal }) =>
    storage.update(
      ref,
      "ns",
      "a",
      async (current) => {
        const next = current.copy();
        await overtaken();
        return { do: "put", object: { ...next, data: { text } } as KubeObject };
      },
      of,
    );
  const rival = () => write(`rival ${++rivals}`, async () => {}, call);
  const result = await write("patient", async () => rivals < 100 && (await rival()), call);
  t.match(result?.entry.object, { data: { text: "patient" } });
  t.equal(rivals, 100);
  const stop = new AbortController();
  const hasty = write("hasty", async () => (rivals >= 110 ? stop.abort() : rival()), stop);
  await t.rejects(hasty, { name: "AbortError" });
});

t.test("ResourceCache hands over what happened since, and says when it is too long ago", async (t) => {
  const { cache, store, storage } = await open(t);
  const start = cache.revision;
  await storage.create(ref, "ns", "a", object("a"), call);
  await storage.update(ref, "ns", "a", (now) => ({ do: "put", object: { ...now.copy(), data: { x: "y" } } }), call);
  await storage.update(ref, "ns", "a", () => ({ do: "delete" }), call);
  const seen: string[] = [];
  const stop = cache.cache(ref).subscribe(start, ({ type, entry, revision }) => {
    t.equal(entry.revision, revision);
    seen.push(type);
  });
  t.same(seen, ["ADDED", "MODIFIED", "DELETED"]);
  stop();
  for (let n = 0; n < 1100; n++) await storage.create(ref, "ns", `n${n}`, object(`n${n}`), call);
  const later: CacheEvent[] = [];
  cache.cache(ref).subscribe(start, (event) => later.push(event))();
  t.equal(later.length, 1103, "what the cache let go of is recalled from the store");
  t.ok(later.every(({ revision }, at) => revision === start + at + 1));
  await store.compact(start + 1, call);
  t.throws(() => cache.cache(ref).subscribe(start, () => {}), {
    code: "expired",
    message: /^too old resource version/,
  });
});

t.test("WatchCache forgets changes after ten minutes, and nothing of a resource that did not change", async (t) => {
  const clock = new FakeClock();
  const { cache, storage } = await open(t, memoryStore({ clock }), [], clock);
  const secrets = { group: "", plural: "secrets" };
  const quiet = await storage.create(secrets, "ns", "quiet", object("quiet"), call);
  const since = cache.revision;
  const change = (n: number) =>
    storage.update(ref, "ns", "a", (now) => ({ do: "put", object: { ...now.copy(), data: { n: `${n}` } } }), call);
  await storage.create(ref, "ns", "a", object("a"), call);
  for (let minute = 0; minute < 15; minute++) {
    await clock.advance(60_000);
    await change(minute);
  }
  t.throws(() => cache.cache(ref).subscribe(since, () => {}), { code: "expired" });
  const later: CacheEvent[] = [];
  cache.cache(ref).subscribe(cache.revision - 9, (event) => later.push(event))();
  t.equal(later.length, 9);
  cache.cache(secrets).subscribe(quiet.ok ? quiet.entry.revision : 0, (event) => later.push(event))();
  t.equal(later.length, 9);
});

t.test("WatchCache tells what happened before it began, once and in order, sealed objects included", async (t) => {
  const store = memoryStore();
  const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff);
  const sealed: Transformer = {
    handles: ({ plural }) => plural === "configmaps",
    seal: (_key, plain) => flip(plain),
    open: (_key, bytes) => flip(bytes),
  };
  const before = await open(t, store, [sealed]);
  const start = before.cache.revision;
  await before.storage.create(ref, "ns", "a", object("a", { n: "1" }), call);
  await before.storage.create({ group: "", plural: "secrets" }, "ns", "a", object("a"), call);
  await before.storage.update(
    ref,
    "ns",
    "a",
    (now) => ({ do: "put", object: { ...now.copy(), data: { n: "2" } } }),
    call,
  );
  await before.storage.update(ref, "ns", "a", () => ({ do: "delete" }), call);
  const { cache, storage } = await open(t, store, [sealed]);
  await storage.create(ref, "ns", "a", object("a", { n: "3" }), call);
  const told: unknown[] = [];
  const hear = ({ type, entry, previous, revision }: CacheEvent) => {
    t.equal(entry.object.metadata.resourceVersion, String(revision));
    told.push([type, entry.object.data, previous?.object.data]);
  };
  cache.cache(ref).subscribe(start, hear)();
  t.same(told, [
    ["ADDED", { n: "1" }, undefined],
    ["MODIFIED", { n: "2" }, { n: "1" }],
    ["DELETED", { n: "2" }, { n: "2" }],
    ["ADDED", { n: "3" }, undefined],
  ]);
  told.length = 0;
  cache.cache(ref).subscribe(start + 2, hear)();
  t.equal(told.length, 3, "from the middle");
  const poor = await open(t, withoutRecent(store));
  t.throws(() => poor.cache.cache(ref).subscribe(start, () => {}), { code: "expired" }, "a store that cannot tell");
});

/** The same store, as one that keeps its history elsewhere shows itself. */
function withoutRecent(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value = name === "recent" ? undefined : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

t.test("ResourceCache.sorted() stays a picture of its moment", async (t) => {
  const { cache, storage } = await open(t);
  for (const name of ["b", "a", "c"]) await storage.create(ref, "ns", name, object(name), call);
  const picture = cache.cache(ref).sorted();
  await storage.update(ref, "ns", "b", () => ({ do: "delete" }), call);
  await storage.create(ref, "ns", "aa", object("aa"), call);
  t.same(
    picture.map((entry) => entry.name),
    ["a", "b", "c"],
  );
  t.same(
    cache
      .cache(ref)
      .sorted()
      .map((entry) => entry.name),
    ["a", "aa", "c"],
  );
  t.equal(inNamespace(cache.cache(ref).sorted(), "other").length, 0);
});

t.test("Informers share one decoded object and tell of every change", async (t) => {
  const { cache, storage } = await open(t);
  await storage.create(ref, "ns", "a", object("a"), call);
  const informers = new Informers(cache);
  const informer = informers.for(ref);
  t.equal(informers.for(ref), informer);
  const seen: string[] = [];
  informer.onEvent(({ type, object: one }) => seen.push(`${type} ${one.metadata.name}`));
  await storage.create(ref, "ns", "b", object("b"), call);
  await storage.update(ref, "ns", "a", () => ({ do: "delete" }), call);
  t.same(seen, ["add a", "add b", "delete a"]);
  t.equal(informer.get("ns", "b"), informer.list("ns")[0]);
});

t.test("only the newest state of an object is kept decoded, and older ones can still be read", async (t) => {
  const { cache, storage } = await open(t);
  const informer = new Informers(cache).for<KubeObject>(ref);
  const created = await storage.create(ref, "ns", "a", object("a", { n: "1" }), call);
  const former = created.ok ? created.entry : undefined;
  const told: unknown[] = [];
  informer.onEvent(({ previous }) => told.push(previous?.data));
  t.equal(former?.hasObject, true);
  await storage.update(ref, "ns", "a", () => ({ do: "put", object: object("a", { n: "2" }) }), call);
  t.same(told, [undefined, { n: "1" }]);
  t.equal(former?.hasObject, false);
  t.same(former?.object.data, { n: "1" });
  t.equal(former?.hasObject, false);
  t.equal(cache.cache(ref).get("ns/a")?.hasObject, true);
});

t.test("a cache loads what the store holds, sealed objects included", async (t) => {
  const store = memoryStore();
  const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff);
  const sealed: Transformer = {
    handles: ({ plural }) => plural === "configmaps",
    seal: (_key, plain) => flip(plain),
    open: (_key, bytes) => flip(bytes),
  };
  const first = await open(t, store, [sealed]);
  await first.storage.create(ref, "ns", "a", object("a", { secret: "s" }), call);
  const raw = await store.get("/registry/core/configmaps/ns/a", call);
  t.notMatch(Buffer.from(raw?.value ?? []).toString(), /secret/);
  const second = await open(t, store, [sealed]);
  t.same(second.cache.cache(ref).get("ns/a")?.object.data, { secret: "s" });
});

t.test("expireEvents() deletes events an hour after they were last seen", async (t) => {
  const { cache, storage } = await open(t);
  const clock = new FakeClock();
  const events = { group: "", plural: "events" };
  const event = (name: string, agoMs: number): KubeObject => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "ns", creationTimestamp: new Date(clock.now() - 10 * 3_600_000).toISOString() },
    lastTimestamp: new Date(clock.now() - agoMs).toISOString(),
  });
  await storage.create(events, "ns", "old", event("old", 2 * 3_600_000), call);
  await storage.create(events, "ns", "new", event("new", 0), call);
  const stop = new AbortController();
  const running = expireEvents(cache, storage, clock, { signal: stop.signal });
  await clock.advance(5 * 60_000);
  t.same(
    cache
      .cache(events)
      .sorted()
      .map((entry) => entry.name),
    ["new"],
  );
  stop.abort();
  await running;
});
