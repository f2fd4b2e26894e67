// Small JSON files that are either whole or absent: written beside, and renamed into place.

import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../plugins/kit/os/platform/files.ts";

let counter = 0;

/** CRI's 64-bit numbers are bigints, which JSON lacks. Looks at the member itself: `value` is what a bigint's toJSON made of it. */
function encode(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const member = this[key];
  return typeof member === "bigint" ? { $bigint: String(member) } : value;
}
const decode = (_key: string, value: unknown) => {
  const text = (value as { $bigint?: unknown } | null)?.$bigint;
  return typeof text === "string" ? BigInt(text) : value;
};

/** On the disk when it resolves. A card may take its time for that, so nothing else waits for it. The folder must exist. */
export function flushState(path: string, value: unknown): Promise<void> {
  return writeFileAtomic(path, JSON.stringify(value, encode));
}

/** Synchronous on purpose: a few microseconds, and the state on disk never lags behind what was answered. A power cut may take it. */
export function writeState(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}-${++counter}.tmp`;
  let file: number;
  try {
    file = openSync(temporary, "w", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    file = openSync(temporary, "w", 0o600);
  }
  try {
    writeSync(file, JSON.stringify(value, encode));
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** Past this a record is written anew instead of being added to. */
const maxHistoryBytes = 256 * 1024;

/**
 * Adds the value as the last line, which is the one that counts. Cheaper than a rename, before which a file system writes back what
 * it replaces; a line that a crash cut short leaves the one before it.
 */
export function appendState(path: string, value: unknown): void {
  const file = openSync(path, "a", 0o600);
  let size: number;
  try {
    // A line of its own, whatever a crash left before it.
    writeSync(file, `\n${JSON.stringify(value, encode)}`);
    size = fstatSync(file).size;
  } finally {
    closeSync(file);
  }
  if (size > maxHistoryBytes) writeState(path, value);
}

/** The value, or undefined where the file is absent or was cut short by a crash. */
export function readState<T>(path: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  for (const line of text.split("\n").filter(Boolean).reverse()) {
    try {
      return JSON.parse(line, decode) as T;
    } catch {
      // Cut short by a crash: the line before it holds.
    }
  }
  return undefined;
}

/** Every whole record of a folder by its name without `.json`; left-over temporary files are removed. */
export function readStates<T>(folder: string): Map<string, T> {
  const records = new Map<string, T>();
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".tmp")) rmSync(join(folder, name), { force: true });
    if (!name.endsWith(".json")) continue;
    const value = readState<T>(join(folder, name));
    // Cut short by a power failure: what it spoke of is found as an orphan.
    if (value === undefined) rmSync(join(folder, name), { force: true });
    else records.set(name.slice(0, -".json".length), value);
  }
  return records;
}
