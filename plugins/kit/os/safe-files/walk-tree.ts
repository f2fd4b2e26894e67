// Walks a directory tree by handles: a directory that is swapped for a link meanwhile is never entered. Each entry is visited after what
// lies below it.
//
// Invariant: at most `mostOpen` handles are open, however deep the tree is. On the way up a directory that was closed is opened again as
// `..` of its child and must be the same one; if it is not, somebody moved directories meanwhile, and the walk ends with Fault `conflict`.

import { lstat, readdir } from "node:fs/promises";
import type { Stats } from "node:fs";
import type { Call } from "../../base/call.ts";
import { Fault } from "../../base/fault.ts";
import { isNoDirectory, isOtherMount, openEntry, openResolved, resolve } from "./calls.ts";
import { Folder, isMissing } from "./folder.ts";

const mostOpen = 64;
const mostAtOnce = 32;

export interface TreeEntry {
  readonly parent: Folder;
  readonly name: string;
  /** As it was when it was met; of a directory, through its handle. */
  readonly stats: Stats;
  /** Of a directory; closed after the visit. */
  readonly folder?: Folder;
  /** From the root, for messages and lists: not to be opened. */
  path(): string;
}

export interface WalkOptions {
  /** Called for several entries of a directory at once. */
  readonly visit: (entry: TreeEntry) => void | Promise<void>;
  /** What is mounted below is walked, too; otherwise it is given to `mounted`, or left out. */
  readonly crossesMounts?: boolean;
  readonly mounted?: (entry: Pick<TreeEntry, "parent" | "name">) => void;
}

interface Frame {
  readonly name: string;
  /** Not looked at yet. */
  readonly names: string[];
  /** Directories that are yet to be walked. */
  readonly folders: string[];
  readonly stats: Stats;
  folder: Folder | undefined;
}

/** All entries below the root, not the root itself. What vanishes meanwhile is left out. */
export async function walkTree(root: Folder, options: WalkOptions, call: Call): Promise<void> {
  const frames: Frame[] = [await frameOf("", root)];
  try {
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      call.signal.throwIfAborted();
      if (frame.names.length > 0) {
        await look(frames, frame, frame.names.splice(-mostAtOnce), options);
        continue;
      }
      const name = frame.folders.pop();
      if (name !== undefined) {
        await enter(frames, frame, name, options);
        continue;
      }
      if (frames.length === 1) return;
      frames.pop();
      const parent = frames.at(-1) as Frame;
      const folder = frame.folder as Folder;
      try {
        parent.folder ??= openParent(folder, parent.stats);
        const path = () => pathOf(frames, frame.name);
        await options.visit({ parent: parent.folder, name: frame.name, stats: frame.stats, folder, path });
      } finally {
        folder.close();
      }
    }
  } finally {
    for (const { folder } of frames.slice(1)) folder?.close();
  }
}

/** Looks at some names at once: directories are walked later, the rest is visited. Waits for all, because the handle may be closed then. */
async function look(
  frames: readonly Frame[],
  frame: Frame,
  names: readonly string[],
  { visit }: WalkOptions,
): Promise<void> {
  const parent = frame.folder as Folder;
  const visits = names.map(async (name) => {
    const stats = await lstat(parent.at(name)).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (stats?.isDirectory()) frame.folders.push(name);
    else if (stats) await visit({ parent, name, stats, path: () => pathOf(frames, name) });
  });
  const failure = (await Promise.allSettled(visits)).find((visit) => visit.status === "rejected");
  if (failure) throw failure.reason;
}

async function enter(frames: Frame[], frame: Frame, name: string, options: WalkOptions): Promise<void> {
  const folder = openChild(frame.folder as Folder, name, options);
  if (!folder) return;
  try {
    frames.push(await frameOf(name, folder));
  } catch (error) {
    folder.close();
    if (!isMissing(error)) throw error;
  }
  const far = frames.length - mostOpen;
  if (far > 0) {
    frames[far]?.folder?.close();
    (frames[far] as Frame).folder = undefined;
  }
}

const pathOf = (frames: readonly Frame[], name: string) =>
  [...frames.slice(1).map((frame) => frame.name), name].join("/");

async function frameOf(name: string, folder: Folder): Promise<Frame> {
  return { name, folder, stats: folder.stats(), names: await readdir(folder.path), folders: [] };
}

/** Undefined when it is no directory any more, or a mount that is not crossed. */
function openChild(parent: Folder, name: string, { crossesMounts, mounted }: WalkOptions): Folder | undefined {
  if (crossesMounts) return parent.folder(name);
  try {
    const within = resolve.noCrossing | resolve.noLinks | resolve.noMagicLinks;
    const handle = openResolved(parent.handle, name, within, { mustBeDirectory: true });
    if (handle !== undefined) return new Folder(handle);
  } catch (error) {
    if (isNoDirectory(error)) return undefined;
    if (!isOtherMount(error)) throw error;
    mounted?.({ parent, name });
    return undefined;
  }
  // Without openat2 a bind of the same file system is not noticed.
  const child = parent.folder(name);
  if (!child || child.stats().dev === parent.stats().dev) return child;
  child.close();
  mounted?.({ parent, name });
  return undefined;
}

function openParent(child: Folder, expected: Stats): Folder {
  const parent = new Folder(openEntry(child.handle, "..", { mustBeDirectory: true }));
  if (isSame(parent.stats(), expected)) return parent;
  parent.close();
  throw new Fault("conflict", "a directory was moved while its tree was walked");
}

const isSame = (one: Stats, other: Stats) => one.dev === other.dev && one.ino === other.ino;
