import {
  cpSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { uninterrupted as call } from "../../kit/base/call.ts";
import { openSqliteStore } from "../sqlite.ts";
import { restoreSqliteStore } from "./restore.ts";

async function storeWithSnapshot(t: Test) {
  const root = mkdtempSync(join(tmpdir(), "skiff-restore-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, "store");
  const snapshot = join(root, "snapshot.db");
  const store = await openSqliteStore({ folder, lazyPrefixes: ["/lazy/"] });
  t.teardown(() => store.close());
  for (const key of ["/a", "/b", "/lazy/c"]) await store.put(key, Uint8Array.of(1), "any", call);
  await store.backup(snapshot);
  await store.put("/d", Uint8Array.of(1), "any", call);
  return { folder, snapshot, store };
}

t.test("restoreSqliteStore() brings back the snapshot above every revision that was seen", async (t) => {
  const { folder, snapshot, store } = await storeWithSnapshot(t);
  const seen = store.revision;
  await store.close();
  const { replaced, revision } = restoreSqliteStore(folder, snapshot);
  t.ok(revision > seen);
  t.ok(replaced && statSync(replaced).size > 0, "what was there is kept");
  t.equal(statSync(join(folder, "store.db")).mode & 0o777, 0o600);
  const again = await openSqliteStore({ folder, lazyPrefixes: ["/lazy/"] });
  t.teardown(() => again.close());
  t.equal(again.revision, revision);
  const { entries } = await again.list("", {}, call);
  t.same(
    entries.map((entry) => entry.key),
    ["/a", "/b", "/lazy/c"],
  );
  await t.rejects(again.watch("/", seen, call)[Symbol.asyncIterator]().next(), { code: "expired" });
  const put = await again.put("/e", Uint8Array.of(1), "absent", call);
  t.ok(put.ok && put.entry.revision > revision);
});

t.test("openSqliteStore() undoes a replacement that was killed before the new database had its name", async (t) => {
  const { folder, store } = await storeWithSnapshot(t);
  const killed = join(dirname(folder), "killed");
  cpSync(folder, killed, { recursive: true });
  await store.close();
  const path = join(killed, "store.db");
  const kept = `${path}.replaced-2026-01-01T00-00-00Z`;
  linkSync(path, kept);
  renameSync(`${path}-wal`, `${kept}-wal`);
  writeFileSync(`${path}.new`, "half");
  const again = await openSqliteStore({ folder: killed });
  t.teardown(() => again.close());
  t.ok(await again.get("/d", call), "what the journal alone holds");
  t.same(
    readdirSync(killed).filter((name) => /replaced|new/.test(name)),
    [],
  );
});

t.test(
  "restoreSqliteStore() refuses a running store, a missing and a damaged snapshot, and touches nothing",
  async (t) => {
    const { folder, snapshot, store } = await storeWithSnapshot(t);
    t.throws(() => restoreSqliteStore(folder, snapshot), { code: "unavailable", message: /another instance/ });
    await store.close();
    const before = readdirSync(folder).sort();
    t.throws(() => restoreSqliteStore(folder, `${snapshot}.not`), { code: "not-found" });
    truncateSync(snapshot, 5000);
    t.throws(() => restoreSqliteStore(folder, snapshot), { code: "invalid", message: /snapshot\.db/ });
    t.same(readdirSync(folder).sort(), before);
  },
);
