// Secret files on disk: written whole or not at all, readable by the owner alone.

import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { toFault } from "../../../plugins/kit/base/fault.ts";

export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw toFault(error, `Cannot read ${path}`, "unavailable");
  }
}

/** Replaces the file in one step that survives a kill or power loss at any point; blocks until it is on the disk. */
export function writeWhole(path: string, text: string, mode = 0o600): void {
  replace(path, text, { mode, sync: true });
}

/** Replaces the file in one step; a power loss may leave it damaged. For what is made anew then, and must not make others wait. */
export function writeSoon(path: string, text: string): void {
  replace(path, text, { mode: 0o600, sync: false });
}

/** The folder is made 0700. */
function replace(path: string, text: string, { mode, sync }: { mode: number; sync: boolean }): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString("hex")}.new`;
  try {
    const file = openSync(temporary, "wx", mode);
    try {
      writeSync(file, text);
      if (sync) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // The umask may have taken bits away.
    chmodSync(temporary, mode);
    renameSync(temporary, path);
    if (sync) syncFolder(folder);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw toFault(error, `Cannot write ${path}`, "unavailable");
  }
}

/** Writes only when the content differs, so that a start wears no flash. True when it wrote. */
export function writeIfChanged(path: string, text: string, mode = 0o600): boolean {
  if (readIfPresent(path) === text) return false;
  writeWhole(path, text, mode);
  return true;
}

/** Takes away what writes that were killed left behind. Only for a folder that nobody else writes to now. */
export function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder))
    if (/\.[0-9a-f]{12}\.new$/.test(name)) rmSync(join(folder, name), { force: true });
}

/** A rename is durable only once its folder is. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
