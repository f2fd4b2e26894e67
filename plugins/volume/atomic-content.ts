// Live content of a volume (config maps, secrets, tokens): files behind a `..data` link that is swapped in one step, so that a
// reader sees all of the old or all of the new, and every file name a reader knows stays where it is.
//
//   name -> ..data/name        ..data -> ..2026_11_16_…/        ..2026_11_16_…/name

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "../kit/fault.ts";

export interface ContentFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** A user of the pod that the file belongs to; its root when absent. */
  readonly owner?: number;
}

export type Content = ReadonlyMap<string, ContentFile>;

const dataLink = "..data";

/**
 * Brings the directory to the content; true when anything changed. A crash at any point leaves the old or the new content. `own` says
 * whose the new files are before anyone sees them.
 */
export function writeContent(
  directory: string,
  content: Content,
  { fsGroup, now, own }: { fsGroup?: number | undefined; now: number; own?: (fresh: string) => void },
): boolean {
  for (const path of content.keys()) checkPath(path);
  const current = currentDirectory(directory);
  if (current && isSame(join(directory, current), content)) {
    linkNames(directory, content);
    return false;
  }
  const stamp = new Date(now).toISOString().slice(0, 19).replace(/[-:T]/g, "_");
  const fresh = mkdtempSync(join(directory, `..${stamp}.`));
  try {
    fill(fresh, content, fsGroup);
    own?.(fresh);
    const swap = join(directory, "..data_tmp");
    rmSync(swap, { force: true });
    symlinkSync(fresh.slice(directory.length + 1), swap);
    renameSync(swap, join(directory, dataLink));
  } catch (error) {
    // A full disk must not become fuller with every attempt.
    rmSync(fresh, { recursive: true, force: true });
    throw error;
  }
  linkNames(directory, content);
  removeOld(directory, content);
  return true;
}

function fill(fresh: string, content: Content, fsGroup: number | undefined): void {
  chmodSync(fresh, 0o755);
  for (const [path, file] of content) {
    const target = join(fresh, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    writeFileSync(target, file.data);
    // Group readability is what fsGroup promises, whatever mode was asked for.
    chmodSync(target, fsGroup === undefined ? file.mode : file.mode | 0o440);
  }
}

function currentDirectory(directory: string): string | undefined {
  try {
    return readlinkSync(join(directory, dataLink));
  } catch {
    return undefined; // first write
  }
}

function isSame(directory: string, content: Content): boolean {
  const found = filesBelow(directory, "");
  if (found === undefined || found.length !== content.size) return false;
  return found.every((path) => {
    const file = content.get(path);
    return file !== undefined && Buffer.compare(readFileSync(join(directory, path)), file.data) === 0;
  });
}

function filesBelow(directory: string, below: string): string[] | undefined {
  try {
    return readdirSync(join(directory, below), { withFileTypes: true }).flatMap((entry) => {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      return entry.isDirectory() ? (filesBelow(directory, path) ?? []) : [path];
    });
  } catch {
    return undefined; // the link points nowhere: write anew
  }
}

const topName = (path: string) => path.split("/")[0] ?? path;

function linkNames(directory: string, content: Content): void {
  for (const name of new Set([...content.keys()].map(topName))) {
    const link = join(directory, name);
    if (lstatSync(link, { throwIfNoEntry: false })) continue;
    symlinkSync(join(dataLink, name), link);
  }
}

function removeOld(directory: string, content: Content): void {
  const kept = new Set([dataLink, currentDirectory(directory), ...[...content.keys()].map(topName)]);
  for (const name of readdirSync(directory)) {
    if (!kept.has(name)) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

function checkPath(path: string): void {
  const parts = path.split("/");
  if (path === "" || path.startsWith("/") || parts.includes("..") || topName(path).startsWith("..")) {
    throw new Fault(
      "invalid",
      `Cannot write "${path}" into a volume: it must be a relative path without ".." elements`,
    );
  }
}
