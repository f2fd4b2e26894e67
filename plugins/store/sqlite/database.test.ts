import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { buildDatabase, Database } from "./database.ts";
import { Journal } from "./journal.ts";
import { packRows } from "./protocol.ts";

function newDatabase(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-database-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  buildDatabase(path);
  return path;
}

const row = (revision: number, key: string) => ({
  revision,
  createRevision: revision,
  key,
  value: Buffer.from(key),
  isLazy: false,
});
const commitOf = (revision: number, key: string) => ({ rows: packRows([row(revision, key)]), removed: [], marks: {} });

t.test("commit() leaves nothing behind when the disk does not confirm it", async (t) => {
  const path = newDatabase(t);
  let isFailing = false;
  class FailingJournal extends Journal {
    override sync(): void {
      if (isFailing) throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
      super.sync();
    }
  }
  const database = new Database(path, (of) => new FailingJournal(of));
  const found = () => [...database.rows()].map(({ revision, key }) => `${revision} ${key}`);
  database.commit(commitOf(2, "first"));
  isFailing = true;
  t.throws(() => database.commit(commitOf(3, "refused")), { code: "EIO" });
  t.same(found(), ["2 first"]);
  isFailing = false;
  database.commit(commitOf(3, "second"));
  t.same(found(), ["2 first", "3 second"], "its revision is given again");
  database.close();
});

t.test("prepareJournal() gives the journal its size, which SQLite reads as its end", async (t) => {
  const path = newDatabase(t);
  const database = new Database(path);
  t.teardown(() => database.close());
  database.commit(commitOf(2, "before"));
  database.prepareJournal();
  const { size } = statSync(`${path}-wal`);
  t.ok(size >= 1 << 20, String(size));
  for (let revision = 3; revision < 40; revision++) database.commit(commitOf(revision, `key-${revision}`));
  t.equal(statSync(`${path}-wal`).size, size, "commits do not make it grow");
  t.equal([...database.rows()].length, 38);
});
