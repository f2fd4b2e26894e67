// The behaviour every Store must show, written once and run against each implementation.

import type { Test } from "tap";
import { type Call, uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { isFault, type FaultCode } from "../../plugins/kit/base/fault.ts";
import type { Store, StoreEvent } from "../../plugins/kit/contracts/store.ts";

/** Opens a store that holds nothing below any prefix the suite uses; closes it with the test. */
export type OpenStore = (t: Test) => Promise<Store>;

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => (value ? new TextDecoder().decode(value) : undefined);

export function storeSuite(t: Test, name: string, open: OpenStore): void {
  const on = (title: string, check: (t: Test, store: Store) => Promise<void>) =>
    t.test(`${name}: ${title}`, async (t) => check(t, await open(t)));

  for (const [title, check] of Object.entries(reads)) on(title, check);
  for (const [title, check] of Object.entries(writes)) on(title, check);
  for (const [title, check] of Object.entries(watches)) on(title, check);
}

type Check = (t: Test, store: Store) => Promise<void>;

const reads: Record<string, Check> = {
  "get() answers undefined for what is not there": async (t, store) => {
    t.equal(await store.get("/a", call), undefined);
    t.ok(store.revision >= 1);
  },

  "list() is in byte order of keys, below the prefix only": async (t, store) => {
    for (const key of ["/p/b", "/p/a", "/p/a/x", "/p/a-", "/p/\u{1F600}", "/p/\uFF5E", "/p", "/pz", "/q/a"]) {
      await put(store, key, key);
    }
    const { entries, remaining, revision } = await store.list("/p/", {}, call);
    t.same(
      entries.map((entry) => entry.key),
      ["/p/a", "/p/a-", "/p/a/x", "/p/b", "/p/\uFF5E", "/p/\u{1F600}"],
    );
    t.same(
      entries.map((entry) => text(entry.value)),
      entries.map((entry) => entry.key),
    );
    t.equal(remaining, 0);
    t.equal(revision, store.revision);
  },

  "list() of the empty prefix gives everything": async (t, store) => {
    await put(store, "/x", "1");
    await put(store, "a", "2");
    const keys = (await store.list("", {}, call)).entries.map((entry) => entry.key);
    t.same(keys, ["/x", "a"]);
  },

  "list() pages with limit and after, and counts the rest": async (t, store) => {
    for (let i = 0; i < 10; i++) await put(store, `/l/${i}`, "v");
    const first = await store.list("/l/", { limit: 4 }, call);
    t.equal(first.remaining, 6);
    t.equal(first.entries.at(-1)?.key, "/l/3");
    const rest = await store.list("/l/", { limit: 100, after: "/l/3" }, call);
    t.equal(rest.entries.length, 6);
    t.equal(rest.remaining, 0);
    t.equal((await store.list("/l/", { after: "/l/9" }, call)).entries.length, 0);
    t.equal((await store.list("/l/", { after: "/a" }, call)).entries.length, 10);
    t.equal((await store.list("/l/", { after: "/z" }, call)).entries.length, 0);
    const none = await store.list("/l/", { limit: 0 }, call);
    t.same([none.entries.length, none.remaining], [0, 10]);
  },

  "list() at an old revision shows the state as it was": async (t, store) => {
    await put(store, "/h/a", "1");
    const then = await put(store, "/h/b", "1");
    await put(store, "/h/a", "2");
    await store.delete("/h/b", "any", call);
    await put(store, "/h/c", "1");
    const past = await store.list("/h/", { atRevision: then }, call);
    t.equal(past.revision, then);
    t.same(
      past.entries.map((entry) => [entry.key, text(entry.value)]),
      [
        ["/h/a", "1"],
        ["/h/b", "1"],
      ],
    );
    const page = await store.list("/h/", { atRevision: then, limit: 1 }, call);
    t.same([page.entries.length, page.remaining], [1, 1]);
  },

  "list() refuses a revision that is compacted, or not there yet": async (t, store) => {
    const first = await put(store, "/h/a", "1");
    const second = await put(store, "/h/a", "2");
    await store.compact(second, call);
    await rejectsWith(t, store.list("/h/", { atRevision: first }, call), "expired");
    t.equal(text((await store.list("/h/", { atRevision: second }, call)).entries[0]?.value), "2");
    await rejectsWith(t, store.list("/h/", { atRevision: second + 1_000_000 }, call), "invalid");
    await rejectsWith(t, store.list("/h/", { atRevision: 0 }, call), "invalid");
  },

  "a stopped call is refused before it does anything": async (t, store) => {
    const stopped: Call = { signal: AbortSignal.abort() };
    await t.rejects(store.put("/s", bytes("1"), "any", stopped));
    await t.rejects(store.get("/s", stopped));
    t.equal(await store.get("/s", call), undefined);
  },
};

const writes: Record<string, Check> = {
  "put() raises the revision and keeps createRevision until a delete": async (t, store) => {
    const before = store.revision;
    const created = await store.put("/w", bytes("1"), "absent", call);
    if (!created.ok) throw new Error("the first put lost");
    t.ok(created.entry.revision > before);
    t.equal(created.entry.createRevision, created.entry.revision);
    const updated = await store.put("/w", bytes("2"), created.entry.revision, call);
    if (!updated.ok) throw new Error("the second put lost");
    t.ok(updated.entry.revision > created.entry.revision);
    t.equal(updated.entry.createRevision, created.entry.revision);
    t.same(plain(await store.get("/w", call)), plain(updated.entry));
    t.ok(store.revision >= updated.entry.revision);
    await store.delete("/w", "any", call);
    const again = await store.put("/w", bytes("3"), "absent", call);
    t.ok(again.ok && again.entry.createRevision === again.entry.revision);
  },

  "put() that lost the race tells what is there": async (t, store) => {
    const revision = await put(store, "/r", "1");
    const late = await store.put("/r", bytes("2"), "absent", call);
    t.ok(!late.ok && text(late.current?.value) === "1" && late.current?.revision === revision);
    const wrong = await store.put("/r", bytes("2"), revision + 1, call);
    t.ok(!wrong.ok && text(wrong.current?.value) === "1");
    const nothing = await store.put("/nothing", bytes("2"), revision, call);
    t.ok(!nothing.ok && nothing.current === undefined);
    t.equal(text((await store.get("/r", call))?.value), "1");
  },

  "put() of many at once lets exactly one win each revision": async (t, store) => {
    const revision = await put(store, "/race", "0");
    const racers = Array.from({ length: 20 }, (_, i) => store.put("/race", bytes(`${i}`), revision, call));
    const results = await Promise.all(racers);
    const winners = results.filter((result) => result.ok);
    t.equal(winners.length, 1);
    const winner = winners[0];
    const now = await store.get("/race", call);
    t.ok(winner?.ok && winner.entry.revision === now?.revision);
    for (const result of results) if (!result.ok) t.equal(result.current?.revision, now?.revision);
  },

  "put() keeps empty and binary values as they are": async (t, store) => {
    const odd = Uint8Array.from([0, 255, 10, 0, 128]);
    await store.put("/empty", new Uint8Array(0), "any", call);
    await store.put("/odd", odd.subarray(1, 4), "any", call);
    t.equal((await store.get("/empty", call))?.value.byteLength, 0);
    t.same([...((await store.get("/odd", call))?.value ?? [])], [255, 10, 0]);
  },

  "delete() gives what was there, and is no success where nothing was": async (t, store) => {
    const revision = await put(store, "/d", "1");
    const wrong = await store.delete("/d", revision + 1, call);
    t.ok(!wrong.ok && text(wrong.current?.value) === "1");
    const done = await store.delete("/d", revision, call);
    t.ok(done.ok && text(done.previous.value) === "1" && done.revision > revision);
    t.equal(await store.get("/d", call), undefined);
    for (const expect of ["any", "absent", revision] as const) {
      const again = await store.delete("/d", expect, call);
      t.ok(!again.ok && again.current === undefined);
    }
  },

  "transact(), where there is one, writes all or nothing": async (t, store) => {
    if (!store.transact) return void t.pass("nobody else writes to this store");
    const kept = await put(store, "/t/kept", "1");
    const old = await put(store, "/t/old", "1");
    const made = await store.transact(
      [
        { key: "/t/new", expect: "absent", put: bytes("2") },
        { key: "/t/old", expect: old, delete: true },
        { key: "/t/nothing", expect: "any", delete: true },
        { key: "/t/kept", expect: kept },
      ],
      call,
    );
    if (!made.ok) return void t.fail("all was as expected");
    const { entries } = await store.list("/t/", {}, call);
    t.same(
      entries.map((entry) => [entry.key, text(entry.value), entry.revision]),
      [
        ["/t/kept", "1", kept],
        ["/t/new", "2", made.revision],
      ],
    );
    const refused = await store.transact(
      [
        { key: "/t/more", expect: "absent", put: bytes("3") },
        { key: "/t/new", expect: "absent", put: bytes("3") },
        { key: "/t/kept", expect: "any", delete: true },
      ],
      call,
    );
    t.same(!refused.ok && refused.current.map((entry) => text(entry?.value)), [undefined, "2", "1"]);
    t.same((await store.list("/t/", {}, call)).entries, entries, "a refused one changed nothing");
    const events = await take(store, "/t/", old, 2);
    t.same(events.map(summary).sort(), ["delete /t/old (1)", "put /t/new 2 (-)"]);
    t.same(
      events.map((event) => event.revision),
      [made.revision, made.revision],
    );
  },

  "close() may be called twice, and nothing works after it": async (t, store) => {
    await store.close();
    await store.close();
    await rejectsWith(t, store.get("/a", call), "unavailable");
    await rejectsWith(t, store.put("/a", bytes("1"), "any", call), "unavailable");
    await rejectsWith(t, take(store, "/", 1, 1), "unavailable");
  },
};

const watches: Record<string, Check> = {
  "watch() gives every later change below the prefix once, in order, with what was there": async (t, store) => {
    const start = store.revision;
    await put(store, "/v/a", "1");
    await put(store, "/other", "x");
    await put(store, "/v/a", "2");
    const watching = take(store, "/v/", start, 4);
    await store.delete("/v/a", "any", call);
    await put(store, "/v/b", "1");
    const events = await watching;
    t.same(events.map(summary), ["put /v/a 1 (-)", "put /v/a 2 (1)", "delete /v/a (2)", "put /v/b 1 (-)"]);
    const revisions = events.map((event) => event.revision);
    t.same(
      revisions,
      [...revisions].sort((a, b) => a - b),
    );
    t.ok((revisions[0] as number) > start);
  },

  "watch() from any kept revision gives exactly what followed it": async (t, store) => {
    const revisions: number[] = [];
    for (let i = 0; i < 6; i++) revisions.push(await put(store, "/v", `${i}`));
    for (let i = 0; i < 5; i++) {
      const events = await take(store, "/v", revisions[i] as number, 5 - i);
      t.same(
        events.map((event) => event.revision),
        revisions.slice(i + 1),
      );
    }
  },

  "newest(), where there is one, is never behind a write that was answered": async (t, store) => {
    if (!store.newest) return void t.pass("nobody else writes to this store");
    const written = await put(store, "/n/a", "1");
    t.ok((await store.newest(call)) >= written);
    const again = await put(store, "/n/a", "2");
    t.ok((await store.newest(call)) >= again);
  },

  "recent(), where there is one, gives what watch() would begin with": async (t, store) => {
    if (!store.recent) return void t.pass("this store asks somebody else for its history");
    const start = await put(store, "/v/a", "1");
    await put(store, "/other", "x");
    await put(store, "/v/a", "2");
    await store.delete("/v/a", "any", call);
    const last = await put(store, "/v/b", "1");
    const events = store.recent("/v/", start);
    t.same(events, await take(store, "/v/", start, 3));
    t.same(store.recent("/v/", last), []);
    await store.compact(last, call);
    t.throws(() => store.recent?.("/v/", start), { code: "expired" });
  },

  "watch() ends when its call is stopped": async (t, store) => {
    const stop = new AbortController();
    const batches = store.watch("/v/", store.revision, { signal: stop.signal })[Symbol.asyncIterator]();
    const next = batches.next();
    stop.abort();
    t.equal((await next).done, true);
  },

  "watch() from a compacted revision is expired": async (t, store) => {
    const first = await put(store, "/v/a", "1");
    await put(store, "/v/a", "2");
    const last = await put(store, "/v/a", "3");
    await store.compact(last, call);
    await rejectsWith(t, take(store, "/v/", first, 1), "expired");
    const watching = take(store, "/v/", last, 1);
    await put(store, "/v/a", "4");
    t.same((await watching).map(summary), ["put /v/a 4 (3)"]);
  },

  "watch() that waits is not disturbed by a compaction": async (t, store) => {
    const stop = new AbortController();
    const start = store.revision;
    await put(store, "/v/first", "1");
    const batches = store.watch("/v/", start, { signal: stop.signal })[Symbol.asyncIterator]();
    await batches.next();
    const next = batches.next();
    const last = await put(store, "/elsewhere", "1");
    await store.compact(last, call);
    await put(store, "/v/a", "1");
    t.same((await next).value?.map(summary), ["put /v/a 1 (-)"]);
    stop.abort();
  },

  "compact() keeps the newest value of each key, and may be repeated": async (t, store) => {
    await put(store, "/c/a", "1");
    await put(store, "/c/a", "2");
    await put(store, "/c/b", "1");
    await store.delete("/c/b", "any", call);
    const last = await put(store, "/c/c", "1");
    await store.compact(last, call);
    await store.compact(last, call);
    await store.compact(last - 1, call);
    const { entries } = await store.list("/c/", {}, call);
    t.same(
      entries.map((entry) => [entry.key, text(entry.value)]),
      [
        ["/c/a", "2"],
        ["/c/c", "1"],
      ],
    );
    await rejectsWith(t, store.compact(last + 1_000_000, call), "invalid");
  },
};

async function put(store: Store, key: string, value: string): Promise<number> {
  const result = await store.put(key, bytes(value), "any", call);
  if (!result.ok) throw new Error(`put of ${key} lost a race with nobody`);
  return result.entry.revision;
}

/** The first so many events, then stops watching. */
async function take(store: Store, prefix: string, since: number, count: number): Promise<StoreEvent[]> {
  const stop = new AbortController();
  const events: StoreEvent[] = [];
  for await (const batch of store.watch(prefix, since, { signal: stop.signal })) {
    events.push(...batch);
    if (events.length >= count) break;
  }
  stop.abort();
  return events;
}

async function rejectsWith(t: Test, promise: Promise<unknown>, code: FaultCode): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  t.ok(isFault(error, code), `rejects with ${code}, was ${String(error)}`);
}

function plain(entry: { key: string; value: Uint8Array; revision: number; createRevision: number } | undefined) {
  return entry && { ...entry, value: text(entry.value) };
}

function summary(event: StoreEvent): string {
  const before = text(event.previous?.value) ?? "-";
  if (event.type === "delete") return `delete ${event.key} (${before})`;
  return `put ${event.entry.key} ${text(event.entry.value)} (${before})`;
}
