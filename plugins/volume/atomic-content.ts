// Live content of a volume (config maps, secrets, tokens): files behind a `..data` link that is swapped in one step, so that a
// reader sees all of the old or all of the new, and every file name a reader knows stays where it is.
//
//   name -> ..data/name        ..data -> ..2026_11_16_…/        ..2026_11_16_…/name
//
// Containers have these volumes read-only. Still nothing here trusts what is found: every file is made anew (O_EXCL), nothing is followed,
// and whatever stands where a name belongs is replaced.

import { randomBytes } from "node:crypto";
import { type Call, uninterrupted } from "../kit/base/call.ts";
import { Fault } from "../kit/base/fault.ts";
import { type FileAttributes, Folder } from "../kit/os/safe-files/folder.ts";
import { removeEntry } from "../kit/os/safe-files/remove-tree.ts";
import { holdsContent } from "./content-compare.ts";

export interface ContentFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** A user of the pod that the file belongs to; its root when absent. */
  readonly owner?: number;
}

export type Content = ReadonlyMap<string, ContentFile>;

export interface ContentOptions {
  readonly now: number;
  /** The group that all files are readable by. */
  readonly fsGroup?: number | undefined;
  /** The host's id of the pod's root. */
  readonly rootId?: number | undefined;
  /** Names in the directory that are not content and stay: mount points of other volumes. */
  readonly keep?: readonly string[];
}

const dataLink = "..data";
const isVersion = (name: string | undefined): name is string => name !== undefined && /^\.\.\d{4}_[\w.]+$/.test(name);

/** Brings the directory to the content; true when anything changed. A crash at any point leaves the old or the new content. */
export async function writeContent(
  directory: string,
  content: Content,
  options: ContentOptions,
  call: Call = uninterrupted,
): Promise<boolean> {
  for (const path of content.keys()) checkPath(path);
  const root = Folder.open(directory);
  try {
    return await write(root, content, options, call);
  } finally {
    root.close();
  }
}

async function write(root: Folder, content: Content, options: ContentOptions, call: Call): Promise<boolean> {
  const current = root.linkTarget(dataLink);
  const isCurrent = isVersion(current) && (await isWritten(root, current, content));
  const version = isCurrent ? current : await writeVersion(root, content, options, call);
  await linkNames(root, content, options, call);
  // Also what a writer that was killed behind its swap did not come to remove.
  const kept = new Set([dataLink, version, ...(options.keep ?? []), ...[...content.keys()].map(topName)]);
  for (const name of root.names()) if (!kept.has(name)) await removeEntry(root, name, call);
  return !isCurrent;
}

/** Makes the content what readers see, and returns the name of its directory. */
async function writeVersion(root: Folder, content: Content, options: ContentOptions, call: Call): Promise<string> {
  const stamp = new Date(options.now).toISOString().slice(0, 19).replace(/[-:T]/g, "_");
  const fresh = `..${stamp}.${randomBytes(4).toString("hex")}`;
  try {
    const folder = root.makeFolder(fresh, folderAttributes(options));
    try {
      for (const [path, file] of content) place(folder, path.split("/"), file, options);
    } finally {
      folder.close();
    }
    root.own(folderAttributes(options, root.stats().mode & 0o7777));
    await swap(root, fresh, options, call);
  } catch (error) {
    // A full disk must not become fuller with every attempt.
    await removeEntry(root, fresh, call);
    throw error;
  }
  return fresh;
}

async function isWritten(root: Folder, version: string, content: Content): Promise<boolean> {
  const folder = root.folder(version);
  if (!folder) return false;
  try {
    return await holdsContent(folder, content);
  } finally {
    folder.close();
  }
}

async function swap(root: Folder, fresh: string, options: ContentOptions, call: Call): Promise<void> {
  const temporary = "..data_tmp";
  await removeEntry(root, temporary, call);
  root.makeLink(temporary, fresh, ownerOf(options));
  // A link replaces a link in one step; anything else was put there by somebody else.
  if (root.look(dataLink)?.isSymbolicLink() === false) await removeEntry(root, dataLink, call);
  root.rename(temporary, dataLink);
}

function place(folder: Folder, [name = "", ...rest]: string[], file: ContentFile, options: ContentOptions): void {
  if (rest.length === 0) return folder.makeFile(name, file.data, fileAttributes(file, options));
  const below = folder.folder(name) ?? folder.makeFolder(name, folderAttributes(options));
  try {
    place(below, rest, file, options);
  } finally {
    below.close();
  }
}

const ownerOf = ({ rootId = 0, fsGroup }: ContentOptions) => ({ uid: rootId, gid: fsGroup ?? rootId });

/** Group readability is what fsGroup promises, whatever mode was asked for. */
const fileAttributes = ({ mode, owner = 0 }: ContentFile, options: ContentOptions): FileAttributes => ({
  uid: (options.rootId ?? 0) + owner,
  gid: ownerOf(options).gid,
  mode: options.fsGroup === undefined ? mode : mode | 0o440,
});

const folderAttributes = (options: ContentOptions, mode = 0o755): FileAttributes => ({
  ...ownerOf(options),
  mode: options.fsGroup === undefined ? mode : mode | 0o2550,
});

const topName = (path: string) => path.split("/")[0] ?? path;

async function linkNames(root: Folder, content: Content, options: ContentOptions, call: Call): Promise<void> {
  for (const name of new Set([...content.keys()].map(topName))) {
    const target = `${dataLink}/${name}`;
    if (root.linkTarget(name) === target) continue;
    await removeEntry(root, name, call);
    root.makeLink(name, target, ownerOf(options));
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
