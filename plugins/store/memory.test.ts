import t from "tap";
import { storeSuite } from "../../test/suites/store.ts";
import { uninterrupted as call } from "../kit/base/call.ts";
import { FakeClock } from "../kit/base/clock.ts";
import { isFault } from "../kit/base/fault.ts";
import type { Store } from "../kit/contracts/store.ts";
import { memory, memoryStore } from "./memory.ts";

storeSuite(t, "memory", async (t) => {
  const store = memoryStore();
  t.teardown(() => store.close());
  return store;
});

const value = (size: number) => new Uint8Array(size);

async function isExpiredAt(store: Store, revision: number): Promise<boolean> {
  return store.list("/", { atRevision: revision }, call).then(
    () => false,
    (error: unknown) => isFault(error, "expired"),
  );
}

t.test("memoryStore() compacts by count", async (t) => {
  const store = memoryStore({ history: { count: 10 } });
  for (let i = 0; i < 30; i++) await store.put("/a", value(1), "any", call);
  t.ok(await isExpiredAt(store, store.revision - 15));
  t.notOk(await isExpiredAt(store, store.revision - 9));
});

t.test("memoryStore() compacts by bytes that only history holds", async (t) => {
  const store = memoryStore({ history: { bytes: 1000 } });
  for (let i = 0; i < 30; i++) await store.put("/a", value(100), "any", call);
  t.ok(await isExpiredAt(store, store.revision - 15));
  t.notOk(await isExpiredAt(store, store.revision - 5));
});

t.test("memoryStore() compacts by age", async (t) => {
  const clock = new FakeClock();
  const store = memoryStore({ clock, history: { ageMs: 60_000 } });
  for (let i = 0; i < 3; i++) {
    await store.put("/a", value(1), "any", call);
    await clock.advance(10_000);
  }
  const old = store.revision;
  t.notOk(await isExpiredAt(store, old - 1));
  await clock.advance(60_000);
  await store.put("/a", value(1), "any", call);
  t.ok(await isExpiredAt(store, old - 2));
  t.notOk(await isExpiredAt(store, store.revision - 1));
});

t.test("memoryStore() tells a reader that fell too far behind", async (t) => {
  const store = memoryStore({ history: { count: 5 } });
  const stop = new AbortController();
  const batches = store.watch("/", store.revision, { signal: stop.signal })[Symbol.asyncIterator]();
  await store.put("/a", value(1), "any", call);
  t.equal((await batches.next()).value?.length, 1);
  for (let i = 0; i < 20; i++) await store.put("/a", value(1), "any", call);
  await t.rejects(batches.next(), { code: "expired" });
  stop.abort();
});

t.test("memory.configure() names the key that is wrong", async (t) => {
  t.same(memory.configure?.({ historySeconds: 5, historyCount: 7 }), { history: { ageMs: 5000, count: 7 } });
  t.throws(() => memory.configure?.({ historySecond: 5 }), { code: "invalid", message: /historySecond/ });
  t.throws(() => memory.configure?.({ historyCount: "many" }), { code: "invalid", message: /historyCount/ });
  t.throws(() => memory.configure?.([]), { code: "invalid", message: /mapping/ });
});
