// Whether a file may be run with our rights: nobody but root and the user that we run as may have written it, replaced it, or
// changed what its path leads to. The path is walked as the kernel walks it, links included.

import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, parse, resolve } from "node:path";
import { Fault } from "../../base/fault.ts";

const writableByOthers = 0o022;
const sticky = 0o1000;
const mostLinks = 40;

/** Fault `forbidden` that names the file or folder, its owner and mode, and the fix. `what` begins the sentence: `Cannot load plugin "x"`. */
export function requireTrustedFile(path: string, what: string): void {
  const { root } = parse(resolve(path));
  let at = root;
  let ahead = partsOf(resolve(path));
  let links = 0;
  requireTrusted(at, lstatSync(at), what);
  while (ahead.length > 0) {
    const [name = "", ...rest] = ahead;
    const next = join(at, name);
    const found = lstatSync(next);
    if (!found.isSymbolicLink()) {
      requireTrusted(next, found, what);
      [at, ahead] = [next, rest];
      continue;
    }
    if (++links > mostLinks) throw new Fault("forbidden", `${what}: too many links in ${path}`);
    requireOwner(next, found, what);
    const target = resolve(dirname(next), readlinkSync(next));
    [at, ahead] = [root, [...partsOf(target), ...rest]];
  }
  if (!lstatSync(at).isFile()) throw new Fault("forbidden", `${what}: ${at} is not a regular file`);
}

const partsOf = (path: string) => path.split("/").filter((part) => part !== "");

function requireTrusted(path: string, found: Stats, what: string): void {
  requireOwner(path, found, what);
  if ((found.mode & writableByOthers) === 0) return;
  // In such a folder (/tmp) nobody may rename or remove what others have made.
  if (found.isDirectory() && (found.mode & sticky) !== 0) return;
  const kind = found.isDirectory() ? "folder" : "file";
  throw new Fault(
    "forbidden",
    `${what}: the ${kind} ${path} can be written by others (${factsOf(found)}); fix: chmod go-w ${path}`,
  );
}

function requireOwner(path: string, found: Stats, what: string): void {
  const self = process.getuid?.() ?? 0;
  if (found.uid === 0 || found.uid === self) return;
  const kind = found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "file";
  throw new Fault(
    "forbidden",
    `${what}: the ${kind} ${path} belongs to another user (${factsOf(found)}); fix: chown -h ${self}:${self} ${path}`,
  );
}

const factsOf = ({ uid, gid, mode }: Stats) =>
  `owner ${uid}:${gid}, mode ${(mode & 0o7777).toString(8).padStart(4, "0")}`;
