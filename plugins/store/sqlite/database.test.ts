import { fdatasyncSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
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

/** A disk that fails on demand. */
class Disk {
  isFailing = false;
  readonly journalOf = (path: string) => new Journal(path, (file) => this.#sync(file));

  #sync(file: number): void {
    if (this.isFailing) throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
    fdatasyncSync(file);
  }
}

t.test("commit() returns when the journal was synced with the rows in it", async (t) => {
  const path = newDatabase(t);
  const seen: boolean[] = [];
  let key = "none yet";
  const journalOf = (of: string) => {
    return new Journal(of, () => seen.push(readFileSync(`${path}-wal`).includes(key)));
  };
  const database = new Database(path, journalOf);
  t.teardown(() => database.close());
  database.prepareJournal();
  t.equal(seen.length, 1, "what a killed process may have left is durable before it is read");
  // More than the journal holds before it begins anew, and some at once that make it grow.
  for (let revision = 2; revision < 300; revision++) {
    key = `key-${revision}-`;
    database.commit(commitOf(revision, key.padEnd(revision % 100 === 0 ? 3_000_000 : 12_000, "x")));
    if (seen.length !== revision || !seen.at(-1)) return t.fail(`revision ${revision} was not synced`);
  }
  t.ok(statSync(path).size > 1_000_000, "checkpoints were made meanwhile");
});

t.test("sync() writes the journal again after the disk failed once", async (t) => {
  const path = newDatabase(t);
  const disk = new Disk();
  const database = new Database(path);
  t.teardown(() => database.close());
  database.commit(commitOf(2, "first"));
  const journal = disk.journalOf(path);
  t.teardown(() => journal.close());
  const wal = `${path}-wal`;
  const look = () => ({ at: statSync(wal, { bigint: true }).mtimeNs, content: readFileSync(wal) });
  const before = look();
  disk.isFailing = true;
  t.throws(() => journal.sync(), { code: "EIO" });
  t.equal(look().at, before.at, "not before it is asked again");
  disk.isFailing = false;
  // File times are as coarse as the kernel's tick.
  await new Promise((resolve) => setTimeout(resolve, 20));
  journal.sync();
  const again = look();
  t.ok(again.at > before.at, "the kernel may hold the pages of a failed write for written");
  t.ok(again.content.equals(before.content));
  journal.sync();
  t.equal(look().at, again.at, "once is enough");
});

t.test("commit() leaves nothing behind when the disk does not confirm it", async (t) => {
  const path = newDatabase(t);
  const disk = new Disk();
  const database = new Database(path, disk.journalOf);
  const found = () => [...database.rows()].map(({ revision, key }) => `${revision} ${key}`);
  database.commit(commitOf(2, "first"));
  disk.isFailing = true;
  t.throws(() => database.commit(commitOf(3, "refused")), { code: "EIO" });
  t.same(found(), ["2 first"]);
  disk.isFailing = false;
  database.commit(commitOf(3, "second"));
  t.same(found(), ["2 first", "3 second"], "its revision is given again");
  database.close();
});

t.test("a database is not opened while the disk does not confirm what it holds", async (t) => {
  const path = newDatabase(t);
  const disk = new Disk();
  disk.isFailing = true;
  t.throws(() => new Database(path, disk.journalOf), { code: "EIO" });
  disk.isFailing = false;
  new Database(path, disk.journalOf).close();
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
