// The files of a snapshot: the database, the keys that its secrets are sealed with, and the checksums of both, which
// `sha256sum -c` understands. The checksums are written last: a snapshot without them was never finished.

import { createHash } from "node:crypto";
import {
  chmodSync,
  createReadStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import { syncFolder, writeFileAtomic } from "../../plugins/kit/os/platform/files.ts";

export interface SnapshotInfo {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly takenAt: number;
}

export interface SnapshotSource {
  /** Writes a consistent copy of the database to a path that does not exist yet. */
  backup(path: string): Promise<void>;
  /** The text of the key file as it is now; undefined when there is none. */
  keys(): string | undefined;
}

const suffix = ".db";
const draftName = (name: string) => `.${name}.draft`;
export const keysPath = (path: string) => `${path}.keys`;
const sumsPath = (path: string) => `${path}.sha256`;

/** Takes a snapshot into the folder; the name is the time. */
export async function takeSnapshot(folder: string, source: SnapshotSource, now: number): Promise<SnapshotInfo> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const file of readdirSync(folder)) if (file.endsWith(".draft")) rmSync(join(folder, file), { force: true });
  const name = freeName(folder, now);
  const path = join(folder, name);
  const draft = join(folder, draftName(name));
  try {
    // A key may be added or dropped while the database is copied: what was there before and after opens all of it.
    const before = source.keys();
    await source.backup(draft);
    chmodSync(draft, 0o600);
    const keys = [...new Set([before, source.keys()])].filter((text) => text !== undefined);
    await writeFileAtomic(keysPath(path), `${JSON.stringify(keys.map((text) => JSON.parse(text) as unknown))}\n`);
    renameSync(draft, path);
    await syncFolder(folder);
    const lines = await Promise.all(
      [path, keysPath(path)].map(async (file) => `${await sumOf(file)}  ${basename(file)}\n`),
    );
    await writeFileAtomic(sumsPath(path), lines.join(""));
  } catch (error) {
    rmSync(draft, { force: true });
    removeSnapshot(path);
    throw toFault(error, `Cannot write the snapshot ${path}`);
  }
  return infoOf(path);
}

/** Complete snapshots, oldest first. */
export function listSnapshots(folder: string): SnapshotInfo[] {
  let files: string[];
  try {
    files = readdirSync(folder);
  } catch {
    return [];
  }
  return files
    .filter((file) => file.endsWith(suffix) && files.includes(basename(sumsPath(file))))
    .map((file) => infoOf(join(folder, file)))
    .sort((a, b) => a.takenAt - b.takenAt || (a.name < b.name ? -1 : 1));
}

/** Removes all but the newest; gives the names of those that went. */
export function keepNewest(folder: string, count: number): string[] {
  const old = listSnapshots(folder).slice(0, -count);
  for (const { path } of old) removeSnapshot(path);
  return old.map(({ name }) => name);
}

/** Compares both files with the checksums; a Fault says which is not what was saved. */
export async function verifySnapshot(path: string): Promise<void> {
  let sums: string;
  try {
    statSync(path);
  } catch (error) {
    throw new Fault("not-found", `Cannot restore from ${path}: there is no such file`, { cause: error });
  }
  try {
    sums = readFileSync(sumsPath(path), "utf8");
  } catch (error) {
    throw new Fault("invalid", `Cannot restore from ${path}: its checksums, ${sumsPath(path)}, are missing`, {
      cause: error,
    });
  }
  for (const file of [path, keysPath(path)]) {
    const expected = sums
      .split("\n")
      .find((line) => line.slice(66) === basename(file))
      ?.slice(0, 64);
    let found: string | undefined;
    try {
      found = await sumOf(file);
    } catch {
      // A file that cannot be read has no checksum, and that is what is told.
    }
    if (!expected || found !== expected)
      throw new Fault(
        "invalid",
        `Cannot restore from ${path}: it is damaged (${basename(file)} is not what was saved)`,
      );
  }
}

function removeSnapshot(path: string): void {
  // The checksums first: without them the rest counts for nothing.
  for (const file of [sumsPath(path), path, keysPath(path)]) rmSync(file, { force: true });
}

function infoOf(path: string): SnapshotInfo {
  const { size, mtimeMs } = statSync(path);
  const name = basename(path);
  const [, date, time] = /^skiff-(\d{4}-\d\d-\d\d)T(\d\d-\d\d-\d\d)Z/.exec(name) ?? [];
  const named = Date.parse(`${date}T${time?.replaceAll("-", ":")}Z`);
  return { name, path, bytes: size, takenAt: Number.isNaN(named) ? Math.trunc(mtimeMs) : named };
}

/** `skiff-2024-05-01T12-00-00Z.db`, or with a number when that second is taken. */
function freeName(folder: string, now: number): string {
  const taken = new Set(readdirSync(folder));
  const stem = `skiff-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}Z`;
  for (let count = 1; ; count++) {
    const name = `${stem}${count === 1 ? "" : `.${count}`}${suffix}`;
    if (!taken.has(name)) return name;
  }
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

export const snapshotsFolder = (dataDir: string) => join(dataDir, "snapshots");

/** A path, or the name of a snapshot in the data dir. */
export function findSnapshot(dataDir: string, given: string): string {
  return dirname(given) === "." && listSnapshots(snapshotsFolder(dataDir)).some(({ name }) => name === given)
    ? join(snapshotsFolder(dataDir), given)
    : given;
}
