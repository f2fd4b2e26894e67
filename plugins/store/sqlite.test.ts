import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { storeSuite } from "../../test/suites/store.ts";
import { uninterrupted as call } from "../kit/base/call.ts";
import { FakeClock } from "../kit/base/clock.ts";
import type { Store } from "../kit/contracts/store.ts";
import { openSqliteStore, type SqliteStoreOptions, sqlite } from "./sqlite.ts";
import type { StartThread } from "./sqlite/thread.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => (value ? new TextDecoder().decode(value) : undefined);

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-sqlite-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(t: Test, options: SqliteStoreOptions) {
  const store = await openSqliteStore(options);
  t.teardown(() => store.close());
  return store;
}

storeSuite(t, "sqlite", (t) => open(t, { folder: folderFor(t) }));
storeSuite(t, "sqlite, partly lazy", (t) =>
  open(t, { folder: folderFor(t), lazyPrefixes: ["/v/a", "/h/b", "/l/", "/r"] }),
);

async function keysOf(store: Store): Promise<string[]> {
  return (await store.list("", {}, call)).entries.map((entry) => `${entry.key}=${text(entry.value)}`);
}

t.test("openSqliteStore() finds everything again: entries, revisions, history", async (t) => {
  const folder = folderFor(t);
  const first = await open(t, { folder });
  await first.put("/a", bytes("1"), "any", call);
  const then = first.revision;
  await first.put("/a", bytes("2"), "any", call);
  await first.put("/b", bytes("1"), "any", call);
  await first.delete("/b", "any", call);
  const entry = await first.get("/a", call);
  const last = first.revision;
  await first.close();

  const second = await open(t, { folder });
  t.equal(second.revision, last);
  const again = await second.get("/a", call);
  t.same([again?.revision, again?.createRevision, text(again?.value)], [entry?.revision, entry?.createRevision, "2"]);
  const past = await second.list("", { atRevision: then }, call);
  t.same(
    past.entries.map((entry) => text(entry.value)),
    ["1"],
  );
  for await (const events of second.watch("", then, call)) {
    t.same(
      events.map((event) => event.type),
      ["put", "put", "delete"],
    );
    break;
  }
  const next = await second.put("/c", bytes("1"), "absent", call);
  t.ok(next.ok && next.entry.revision > last);
});

t.test("openSqliteStore() never gives a revision twice, though compaction removed the last rows", async (t) => {
  const folder = folderFor(t);
  const first = await open(t, { folder });
  await first.put("/a", bytes("1"), "any", call);
  await first.delete("/a", "any", call);
  const last = first.revision;
  await first.compact(last, call);
  await first.close();
  const second = await open(t, { folder });
  t.equal(second.revision, last);
  t.same(await keysOf(second), []);
  await t.rejects(second.list("", { atRevision: last - 1 }, call), { code: "expired" });
});

t.test("compact() removes from the database all that it forgot", async (t) => {
  const folder = folderFor(t);
  const store = await open(t, { folder });
  for (let i = 0; i < 30; i++) {
    const writes = Array.from({ length: 100 }, () => store.put("/a", new Uint8Array(500), "any", call));
    await Promise.all(writes);
  }
  await store.compact(store.revision, call);
  const copy = join(folder, "copy.db");
  await store.backup(copy);
  t.ok(statSync(copy).size < 50_000, "one row is left of 3,000");
});

t.test("lazy prefixes are written on close, and after flushMs", async (t) => {
  const folder = folderFor(t);
  const clock = new FakeClock();
  const first = await open(t, { folder, lazyPrefixes: ["/lazy/"], clock, flushMs: 60_000 });
  await first.put("/lazy/a", bytes("1"), "any", call);
  await first.put("/lazy/b", bytes("1"), "any", call);
  await clock.advance(60_000);
  await first.put("/lazy/a", bytes("2"), "any", call);
  await first.delete("/lazy/b", "any", call);
  await first.put("/lazy/c", bytes("1"), "any", call);
  await first.backup(join(folder, "backup.db"));
  await first.put("/lazy/a", bytes("3"), "any", call);
  const { revision } = first;
  await first.close();
  const second = await open(t, { folder, lazyPrefixes: ["/lazy/"] });
  t.equal(second.revision, revision);
  t.same(await keysOf(second), ["/lazy/a=3", "/lazy/c=1"]);
});

t.test("a lazy key that only has another value is written later than one that came or went", async (t) => {
  const folder = folderFor(t);
  const clock = new FakeClock();
  const lazyPrefixes = ["/lazy/"];
  const store = await open(t, { folder, lazyPrefixes, clock, flushMs: 60_000 });
  /** What a crash now would leave: the files as they are, beside those that the store holds. */
  const written = async () => {
    // A firm write waits for the flush that may be under way.
    await store.put("/firm", bytes("1"), "any", call);
    const copy = folderFor(t);
    for (const name of ["store.db", "store.db-wal"]) cpSync(join(folder, name), join(copy, name));
    const found = await openSqliteStore({ folder: copy, lazyPrefixes });
    const keys = (await keysOf(found)).filter((key) => key.startsWith("/lazy/"));
    await found.close();
    return keys;
  };
  await store.put("/lazy/lease", bytes("1"), "any", call);
  await clock.advance(59_000);
  t.same(await written(), []);
  await clock.advance(1_000);
  t.same(await written(), ["/lazy/lease=1"]);
  await store.put("/lazy/lease", bytes("2"), "any", call);
  await clock.advance(5 * 60_000);
  t.same(await written(), ["/lazy/lease=1"], "its holder renews it anyway");
  await clock.advance(60_000);
  t.same(await written(), ["/lazy/lease=2"]);
  await store.put("/lazy/lease", bytes("3"), "any", call);
  await clock.advance(30_000);
  await store.put("/lazy/event", bytes("1"), "any", call);
  await clock.advance(60_000);
  t.same(await written(), ["/lazy/event=1", "/lazy/lease=3"], "news take along what waits");
  await store.delete("/lazy/event", "any", call);
  await clock.advance(60_000);
  t.same(await written(), ["/lazy/lease=3"]);
});

t.test(
  "a durable write below a lazy prefix is on disk when it is answered, and is replaced as a lazy one",
  async (t) => {
    const folder = folderFor(t);
    const lazyPrefixes = ["/lazy/"];
    const clock = new FakeClock();
    const store = await open(t, { folder, lazyPrefixes, clock, flushMs: 60_000 });
    const durable = { durable: true };
    const afterCrash = async () => {
      const copy = folderFor(t);
      for (const name of ["store.db", "store.db-wal"]) cpSync(join(folder, name), join(copy, name));
      const found = await openSqliteStore({ folder: copy, lazyPrefixes });
      const keys = await keysOf(found);
      await found.close();
      return keys;
    };
    await store.put("/lazy/a", bytes("1"), "absent", call, durable);
    t.same(await afterCrash(), ["/lazy/a=1"]);
    await store.put("/lazy/a", bytes("2"), "any", call);
    t.same(await afterCrash(), ["/lazy/a=1"], "a renewal costs no write");
    await Promise.all([
      store.put("/lazy/a", bytes("3"), "any", call, durable),
      store.put("/lazy/a", bytes("4"), "any", call),
      store.put("/lazy/b", bytes("1"), "any", call),
    ]);
    t.same(await afterCrash(), ["/lazy/a=4"], "the newest of one commit");
    await store.put("/lazy/c", bytes("1"), "absent", call);
    await store.delete("/lazy/c", "any", call, durable);
    await store.delete("/lazy/a", "any", call, durable);
    t.same(await afterCrash(), []);
    await clock.advance(60_000);
    await store.backup(join(folder, "backup.db"));
    t.same(await afterCrash(), ["/lazy/b=1"], "nothing that was deleted comes back with a flush");
  },
);

t.test("ended resolves when the worker thread dies, and check() says so", async (t) => {
  let worker: Worker | undefined;
  const startThread: StartThread = (setup) => {
    worker = new Worker(new URL("./sqlite/worker.ts", import.meta.url), { workerData: setup });
    return worker;
  };
  const store = await open(t, { folder: folderFor(t), lazyPrefixes: ["/lazy/"], startThread });
  await store.check(call);
  await worker?.terminate();
  const fault = await store.ended;
  t.match(fault, { code: "unavailable", message: /its thread has ended/ });
  await t.rejects(store.check(call), { code: "unavailable" });
  await t.rejects(store.put("/a", bytes("1"), "any", call), { code: "unavailable" });
});

t.test("history below lazy prefixes begins with the process; the rest goes on", async (t) => {
  const folder = folderFor(t);
  const options = { folder, lazyPrefixes: ["/lazy/"] };
  const first = await open(t, options);
  const start = first.revision;
  await first.put("/lazy/a", bytes("1"), "any", call);
  await first.put("/firm/a", bytes("1"), "any", call);
  await first.close();
  const second = await open(t, options);
  await t.rejects(second.watch("/", start, call)[Symbol.asyncIterator]().next(), { code: "expired" });
  await t.rejects(second.list("/lazy/a", { atRevision: start }, call), { code: "expired" });
  const { value } = await second.watch("/firm/", start, call)[Symbol.asyncIterator]().next();
  t.equal(value?.length, 1);
});

t.test("the database gives room back after compaction", async (t) => {
  const folder = folderFor(t);
  const store = await open(t, { folder, history: { count: 50 } });
  for (let i = 0; i < 40; i++) {
    const writes = Array.from({ length: 20 }, (_, k) => store.put(`/k/${k}`, new Uint8Array(4000), "any", call));
    await Promise.all(writes);
  }
  await store.close();
  t.ok(statSync(join(folder, "store.db")).size < 1_500_000, "800 puts of 4 kB leave less than 1.5 MB");
});

const damages: Record<string, (path: string) => void> = {
  "an empty file": (path) => truncateSync(path, 0),
  "a cut file": (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  "another kind of file": (path) => writeFileSync(path, "hello ".repeat(5000)),
  "a bit turned over in a value": (path) => {
    const content = readFileSync(path);
    // In every copy: a page may still hold an old one in its free space.
    for (let at = content.indexOf("needle"); at !== -1; at = content.indexOf("needle", at + 1)) {
      content[at + 8] = (content[at + 8] as number) ^ 1;
    }
    writeFileSync(path, content);
  },
  "a broken page": (path) => {
    const content = readFileSync(path);
    content.fill(0xaa, 3 * 4096, 3 * 4096 + 200);
    writeFileSync(path, content);
  },
};
for (const [name, damage] of Object.entries(damages)) {
  t.test(`openSqliteStore() keeps a damaged database aside and says so: ${name}`, async (t) => {
    const folder = folderFor(t);
    const first = await open(t, { folder });
    for (let i = 0; i < 50; i++) await first.put(`/a/${i}`, bytes(`needle-in-a-value ${"x".repeat(500)}`), "any", call);
    await first.close();
    const path = join(folder, "store.db");
    damage(path);
    const damaged = readFileSync(path);
    const clock = new FakeClock(Date.UTC(2026, 10, 16, 3, 20, 0));
    await t.rejects(openSqliteStore({ folder, clock }), {
      code: "unavailable",
      message: /damaged.*2026-11-16T03-20-00Z/,
    });
    const kept = join(folder, "store.db.damaged-2026-11-16T03-20-00Z");
    t.ok(readFileSync(kept).equals(damaged), "the file is kept as it was");
    await t.rejects(
      openSqliteStore({ folder, clock }),
      { code: "unavailable", message: /damaged/ },
      "not replaced later",
    );
    rmSync(kept);
    const fresh = await open(t, { folder });
    t.same(await keysOf(fresh), []);
  });
}

t.test("openSqliteStore() refuses a folder that another instance uses", async (t) => {
  const folder = folderFor(t);
  const first = await open(t, { folder });
  await t.rejects(openSqliteStore({ folder }), { code: "unavailable", message: /another instance/ });
  await first.put("/a", bytes("1"), "any", call);
  await first.close();
  const second = await open(t, { folder });
  t.same(await keysOf(second), ["/a=1"]);
});

t.test("openSqliteStore() refuses a folder that cannot be written", async (t) => {
  const file = join(folderFor(t), "file");
  writeFileSync(file, "");
  await t.rejects(openSqliteStore({ folder: join(file, "below") }), { code: "forbidden", message: /not writable/ });
});

t.test("sqlite.configure() takes its settings and names a wrong one", async (t) => {
  t.match(sqlite.configure?.({ flushSeconds: 5, lazyPrefixes: ["/x/"] }), { flushMs: 5000, lazyPrefixes: ["/x/"] });
  t.throws(() => sqlite.configure?.({ lazyPrefixes: "x" }), { code: "invalid", message: /lazyPrefixes/ });
  t.throws(() => sqlite.configure?.({ flush: 1 }), { code: "invalid", message: /unknown key "flush"/ });
});
