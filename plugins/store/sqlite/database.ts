// The database: one log of rows by revision, and the marks beside it. Every call blocks; runs in the worker thread only.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { DamagedError, TooNewError } from "./failure.ts";
import { Journal } from "./journal.ts";
import { type Commit, flagsOf, type Marks, type Row, rowOf, unpackRows } from "./protocol.ts";

// "SKIF": tells `file` and us that a database is ours.
const applicationId = 0x534b4946;
const formatVersion = 1;
const cacheKiB = 512;
/** A little more than SQLite fills before it begins again at the front. */
const journalBytes = 4 * 1024 * 1024;
/** Pages worth giving back to the file system: a quarter of the file, and at least 1 MiB. */
const vacuumFraction = 0.25;
const vacuumPages = 256;

/** Syncs nothing: whoever gives the file its name does that first. */
export function buildDatabase(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA synchronous=OFF;
    PRAGMA auto_vacuum=INCREMENTAL;
    PRAGMA application_id=${applicationId};
    PRAGMA user_version=${formatVersion};
    CREATE TABLE log (
      revision INTEGER PRIMARY KEY,
      create_revision INTEGER NOT NULL,
      flags INTEGER NOT NULL,
      crc INTEGER NOT NULL,
      key TEXT NOT NULL,
      value BLOB NOT NULL
    );
    CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  `);
  db.close();
}

export class Database {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  readonly #mark: StatementSync;
  readonly #journal: Journal;
  /** Rows of commits that could not be made durable, where taking them back failed too. */
  #undone: number[] = [];

  /** Opens a database that was built earlier; throws DamagedError where its structure is broken. */
  constructor(path: string, openJournal = (of: string) => new Journal(of)) {
    this.#db = new DatabaseSync(path);
    try {
      this.#db.exec("PRAGMA busy_timeout=0; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL");
      // NORMAL differs from FULL in one thing only: SQLite does not sync its journal after a commit. `commit` does that, faster: see
      // `Journal`. The journal's new header, the journal before a checkpoint and the database after it are synced by SQLite with both.
      this.#db.exec(`PRAGMA synchronous=NORMAL; PRAGMA cache_size=-${cacheKiB}`);
      this.#db.exec(`PRAGMA journal_size_limit=${journalBytes}; PRAGMA temp_store=MEMORY`);
      this.#check();
      this.#insert = this.#db.prepare(
        "INSERT INTO log (revision, create_revision, flags, crc, key, value) VALUES (?, ?, ?, ?, ?, ?)",
      );
      this.#remove = this.#db.prepare("DELETE FROM log WHERE revision = ?");
      this.#mark = this.#db.prepare("INSERT OR REPLACE INTO marks (name, value) VALUES (?, ?)");
      this.#journal = openJournal(path);
    } catch (error) {
      this.#db.close();
      throw error;
    }
    try {
      // What a process wrote that was killed before it could sync is about to be read and shown: it must not vanish afterwards.
      this.#journal.sync();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #check(): void {
    if (this.#pragma("application_id") !== applicationId)
      throw new DamagedError("it is not a database of this program");
    const version = Number(this.#pragma("user_version"));
    if (version !== formatVersion) {
      throw new TooNewError(`its format is ${version}, this program knows ${formatVersion}; use a newer version`);
    }
    const verdict = this.#pragma("quick_check(1)");
    if (verdict !== "ok") throw new DamagedError(String(verdict));
  }

  /** Every row, oldest first; throws DamagedError at one whose checksum does not fit. */
  *rows(): Generator<Row> {
    const select = this.#db.prepare(
      "SELECT revision, create_revision, flags, crc, key, value FROM log ORDER BY revision",
    );
    for (const raw of select.iterate()) {
      const { revision, create_revision: createRevision, flags, crc, key, value } = raw as unknown as StoredRow;
      const row = rowOf({ revision, createRevision, flags, key, value });
      if (checksum(row) !== crc) throw new DamagedError(`the checksum of revision ${revision} does not fit`);
      yield row;
    }
  }

  marks(): Marks {
    const stored = this.#db.prepare("SELECT name, value FROM marks").all() as { name: string; value: string }[];
    return Object.fromEntries(stored.map(({ name, value }) => [name, JSON.parse(value)]));
  }

  /** All or nothing; durable when it returns. */
  commit({ rows, removed, marks }: Commit): void {
    const inserted: number[] = [];
    this.#transact(() => {
      for (const revision of this.#undone) this.#remove.run(revision);
      for (const revision of removed) this.#remove.run(revision);
      for (const row of unpackRows(rows)) {
        const value = row.value ?? new Uint8Array(0);
        this.#insert.run(row.revision, row.createRevision, flagsOf(row), checksum(row), row.key, value);
        inserted.push(row.revision);
      }
      for (const [name, value] of Object.entries(marks)) this.#mark.run(name, JSON.stringify(value));
    });
    this.#undone = [];
    try {
      this.#journal.sync();
    } catch (error) {
      this.#undo(inserted);
      throw error;
    }
  }

  /** Takes back what SQLite holds for committed but the disk refused: its revisions will be given again. */
  #undo(revisions: readonly number[]): void {
    try {
      this.#transact(() => {
        for (const revision of revisions) this.#remove.run(revision);
      });
    } catch {
      // The disk fails altogether; the next commit that it takes begins with this.
      this.#undone.push(...revisions);
    }
  }

  #transact(work: () => void): void {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Makes room for commits ahead, so that they need not. */
  prepareJournal(): void {
    this.#journal.reserve(journalBytes);
  }

  /** Gives free pages back to the file system once they are many. */
  shrink(): void {
    const free = Number(this.#pragma("freelist_count"));
    if (free < vacuumPages || free < Number(this.#pragma("page_count")) * vacuumFraction) return;
    this.#db.exec(`PRAGMA incremental_vacuum(${free})`);
  }

  /** A consistent copy under a path that must not exist yet. */
  backup(path: string): void {
    this.#db.prepare("VACUUM INTO ?").run(path);
  }

  close(): void {
    this.#journal.close();
    this.#db.close();
  }

  #rollBack(): void {
    try {
      this.#db.exec("ROLLBACK");
    } catch {
      // SQLite rolled back by itself, as it does after a full disk.
    }
  }

  #pragma(text: string): unknown {
    const row = this.#db.prepare(`PRAGMA ${text}`).get() as Record<string, unknown> | undefined;
    return row && Object.values(row)[0];
  }
}

interface StoredRow {
  revision: number;
  create_revision: number;
  flags: number;
  crc: number;
  key: string;
  value: Uint8Array;
}

function checksum(row: Row): number {
  const head = crc32(`${row.revision} ${row.createRevision} ${flagsOf(row)} ${row.key}`);
  return row.value ? crc32(row.value, head) : head;
}
