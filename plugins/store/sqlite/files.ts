// The store's files in its folder: the lock that keeps a second instance out, the database, and damaged ones kept aside.
// Runs in the worker thread only: POSIX locks are lost when another part of the process opens and closes the same file.

import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readdirSync } from "node:fs";
import { linkSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DamagedError } from "./failure.ts";

const databaseName = "store.db";
const lockName = "store.lock";

/** Holds the folder until closed or the process ends; throws SQLite's "locked" where another has it. */
export function lockFolder(folder: string): DatabaseSync {
  makeFolder(resolve(folder));
  // Deno's access() knows modes but not read-only mounts, so one is made and taken away.
  const probe = join(folder, `probe-${process.pid}`);
  closeSync(openSync(probe, "w"));
  rmSync(probe, { force: true });
  const lock = new DatabaseSync(join(folder, lockName));
  try {
    lock.exec("PRAGMA busy_timeout=0; PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw error;
  }
  undoReplacement(folder);
  return lock;
}

/**
 * A replacement that was killed between keeping the old database and naming the new one: the old one has both names, and its journal only
 * the kept one. Opened like that it would lack its newest commits.
 */
function undoReplacement(folder: string): void {
  const path = join(folder, databaseName);
  const inode = statSync(path, { throwIfNoEntry: false })?.ino;
  const kept = readdirSync(folder)
    .filter((name) => name.startsWith(`${databaseName}.replaced-`) && !name.endsWith("-wal"))
    .map((name) => join(folder, name))
    .find((name) => statSync(name).ino === inode);
  if (kept === undefined) return;
  if (existsSync(`${kept}-wal`)) renameSync(`${kept}-wal`, `${path}-wal`);
  sync(folder);
  rmSync(kept);
  for (const draft of draftFiles(path)) rmSync(draft, { force: true });
  sync(folder);
}

const draftOf = (path: string) => `${path}.new`;
const draftFiles = (path: string) => ["", "-wal", "-shm", "-journal"].map((tail) => draftOf(path) + tail);

/** The database's path if there is a sound-looking file; undefined where none was ever made. */
export function findDatabase(folder: string): string | undefined {
  const path = join(folder, databaseName);
  if (existsSync(path)) {
    // A new database gets its name only once it is complete, so an empty file was not left by us.
    if (statSync(path).size === 0) throw new DamagedError("the file is empty");
    return path;
  }
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) {
    throw new DamagedError("its journal is there, the file itself is gone");
  }
  return undefined;
}

/** A database that was kept aside earlier and that nobody has dealt with, if there is one. */
export function keptAside(folder: string): string | undefined {
  const name = readdirSync(folder).find(
    (file) => file.startsWith(`${databaseName}.damaged-`) && !file.endsWith("-wal"),
  );
  return name && join(folder, name);
}

/** Builds a database under another name and gives it its own when it is durable; replaces what has that name. */
export function createDatabase(folder: string, build: (path: string) => void): string {
  const path = join(folder, databaseName);
  const draft = draftOf(path);
  const clear = () => {
    for (const file of draftFiles(path)) rmSync(file, { force: true });
  };
  clear();
  try {
    build(draft);
    // Secrets are in it. SQLite gives the journal beside it the same mode.
    chmodSync(draft, 0o600);
    sync(draft);
    renameSync(draft, path);
  } finally {
    clear();
  }
  sync(folder);
  return path;
}

/** Moves a damaged database and its journal aside under a dated name and returns it. */
export function setAside(folder: string, at: string): string {
  const path = join(folder, databaseName);
  const kept = datedName(path, "damaged", at);
  for (const tail of ["-wal", ""]) if (existsSync(path + tail)) renameSync(path + tail, kept + tail);
  rmSync(`${path}-shm`, { force: true });
  // Where only the journal was left, the name still stands for what was found.
  if (!existsSync(kept)) closeSync(openSync(kept, "a", 0o600));
  sync(folder);
  return kept;
}

/**
 * Gives the database a second, dated name before another takes its place, so that there is one at every moment.
 * Its journal is moved: SQLite would apply it to the newcomer.
 */
export function keepReplaced(folder: string, at: string): string | undefined {
  const path = join(folder, databaseName);
  if (!existsSync(path)) return undefined;
  const kept = datedName(path, "replaced", at);
  linkSync(path, kept);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`);
  sync(folder);
  return kept;
}

/** A new folder is an entry of the one above it, and durable only when that is. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= resolve(first).length; made = dirname(made)) sync(dirname(made));
}

function datedName(path: string, why: string, at: string): string {
  return `${path}.${why}-${at.replaceAll(":", "-")}`;
}

function sync(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
