// Opens and reads files that a container can shape. Only regular files: opening a FIFO waits for a writer, opening a device may do anything,
// and a handful of such opens occupy every thread that the process reads files with. So the file is looked at through a handle that
// opens nothing (O_PATH), and then opened without waiting (O_NONBLOCK: a lease on the file would hold it up, too).

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Fault, isFault } from "../../base/fault.ts";
import { closeHandle, openDirectory, openEntry } from "./calls.ts";
import type { Folder } from "./folder.ts";
import { openBeneath } from "./open-beneath.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

/** Takes the handle over. Fault `forbidden` when it is not a regular file. */
async function openHandle(handle: number, path: string, access = O_RDONLY): Promise<FileHandle> {
  try {
    const self = `/proc/self/fd/${handle}`;
    if (!statSync(self).isFile()) throw new Fault("forbidden", `failed to open ${path}: not a regular file`);
    return await open(self, access | O_NONBLOCK);
  } finally {
    closeHandle(handle);
  }
}

/** The path's parent directories must be the agent's own; a link as its last component is refused. Fault `not-found` or `forbidden`. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const directory = openDirectory(dirname(path), { followsLink: true });
  try {
    return await openHandle(openEntry(directory, basename(path)), path);
  } finally {
    closeHandle(directory);
  }
}

/** An entry of a directory that is held open; to be read unless told otherwise (`O_WRONLY`). */
export async function openRegularEntry(folder: Folder, name: string, access?: number): Promise<FileHandle> {
  return openHandle(openEntry(folder.handle, name), name, access);
}

/** A file somewhere below a directory; no component of the path below it may be a link. */
export async function openRegularBeneath(directory: string, path: string): Promise<FileHandle> {
  return openHandle(openBeneath(directory, path), `${directory}/${path}`);
}

/** At most so many bytes, from the beginning or the end. */
export async function readPart(file: FileHandle, maxBytes: number, part: "head" | "tail"): Promise<Buffer> {
  const { size } = await file.stat();
  const length = Math.min(maxBytes, size);
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, part === "tail" ? size - length : 0);
  return buffer.subarray(0, bytesRead);
}

/** The beginning of a small file below a root file system, whose links are followed inside it; empty when it is absent or something else. */
export function readInRoot(root: string, path: string, maxBytes: number): string {
  let handle: number;
  try {
    handle = openBeneath(root, path, { isRoot: true });
  } catch (error) {
    if (isFault(error, "not-found") || isFault(error, "forbidden")) return "";
    throw error;
  }
  try {
    const self = `/proc/self/fd/${handle}`;
    if (!statSync(self).isFile()) return "";
    const file = openSync(self, O_RDONLY | O_NONBLOCK);
    try {
      const buffer = Buffer.alloc(Math.min(fstatSync(file).size, maxBytes));
      return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(file);
    }
  } finally {
    closeHandle(handle);
  }
}

/** A file to append to, made where it is missing; its descriptor is the runtime's own. Fault `forbidden` when it is not a regular file. */
export function openToAppend(path: string, mode: number): number {
  const directory = openDirectory(dirname(path));
  try {
    const flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
    const file = openSync(`/proc/self/fd/${directory}/${basename(path)}`, flags, mode);
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    throw new Fault("forbidden", `failed to open ${path}: not a regular file`);
  } finally {
    closeHandle(directory);
  }
}
