// Unpacks one layer's tar stream into a folder that overlayfs can use as a lower folder: whiteouts become its devices
// and attributes. Bounded in entries and bytes; refuses whatever would reach outside or harm the host.

import {
  closeSync,
  fchmodSync,
  fchownSync,
  linkSync,
  lchownSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { LibcError, libc } from "../kernel/libc.ts";
import { escape, LayerRoot, realFolder } from "./layer-root.ts";
import { readTar, type TarEntry } from "./tar-reader.ts";

export interface UnpackLimits {
  readonly entries: number;
  readonly bytes: number;
}

export interface UnpackedLayer {
  readonly entries: number;
  readonly bytes: number;
  /** Folders the archive has no entry for; their owner and mode belong to the layers below. */
  readonly implied: string[];
}

const charDevice = 0o020000;
const fifo = 0o010000;
const smallFileBytes = 64 * 1024;
const latestTime = 2 ** 33;
/** The last number of 32 bits means nobody. */
const lastOwner = 2 ** 32 - 2;
const maxTargetBytes = 4095;
/** null, zero, full, random, urandom, tty, console, ptmx, tun, fuse: the nodes that honest base images carry. */
const harmlessDevices = new Set(["1:3", "1:5", "1:7", "1:8", "1:9", "5:0", "5:1", "5:2", "10:200", "10:229"]);

export async function unpackLayer(
  tar: AsyncIterable<Uint8Array>,
  into: string,
  limits: UnpackLimits,
  call: Call,
): Promise<UnpackedLayer> {
  const root = new LayerRoot(into);
  try {
    return await unpackInto(root, tar, limits, call);
  } finally {
    root.close();
  }
}

async function unpackInto(
  root: LayerRoot,
  tar: AsyncIterable<Uint8Array>,
  limits: UnpackLimits,
  call: Call,
): Promise<UnpackedLayer> {
  const folderTimes = new Map<string, number>();
  let entries = 0;
  let bytes = 0;
  for await (const entry of readTar(tar)) {
    call.signal.throwIfAborted();
    checkFields(entry);
    if (++entries > limits.entries) {
      throw new Fault("invalid", `Cannot unpack image layer: it has more than ${limits.entries} entries`);
    }
    bytes += entry.size;
    if (bytes > limits.bytes) {
      throw new Fault("invalid", `Cannot unpack image layer: its files are larger than ${limits.bytes} bytes together`);
    }
    await place(root, entry, folderTimes);
  }
  for (const [folder, mtime] of [...folderTimes].reverse()) {
    // It may have been replaced since, by a link that leads elsewhere.
    const found = realFolder(root.path, folder);
    if (found) lutimesSync(`${found.path}/.`, mtime, mtime);
    found?.close();
  }
  return { entries, bytes, implied: root.impliedFolders() };
}

/** What the kernel would refuse without naming the entry. */
function checkFields({ name, type, uid, gid, linkName }: TarEntry): void {
  if (uid > lastOwner || gid > lastOwner) throw escape(name, `it has no owner that can be: ${uid}:${gid}`);
  if (type !== "symlink") return;
  if (linkName === "" || linkName.includes("\0") || Buffer.byteLength(linkName) > maxTargetBytes)
    throw escape(name, "it is a link that has no place to lead to");
}

async function place(root: LayerRoot, entry: TarEntry, folderTimes: Map<string, number>): Promise<void> {
  const parts = root.components(entry.name);
  const base = parts.at(-1);
  if (base === undefined) {
    if (entry.type !== "directory") throw escape(entry.name, "only a folder can be the root");
    adopt(root, "", entry, folderTimes);
    return;
  }
  const parent = root.folder(parts.slice(0, -1), entry.name, true);
  if (base.startsWith(".wh.")) return whiteout(root, parent, base, entry.name);
  const at = parent === "" ? base : `${parent}/${base}`;
  const before = root.look(at);
  if (entry.type === "directory") {
    const hidesLower = before !== undefined && isWhiteout(before);
    if (before && !before.isDirectory()) await root.clear(at, before);
    if (!before?.isDirectory()) mkdirSync(root.absolute(at), { mode: 0o700 });
    if (hidesLower) makeOpaque(root.absolute(at));
    root.implied.delete(at);
    return adopt(root, at, entry, folderTimes);
  }
  if (entry.type === "hardlink") return hardLink(root, entry, at);
  if (before) await root.clear(at, before);
  const path = root.absolute(at);
  if (entry.type === "file") await writeContent(path, entry);
  else if (entry.type === "symlink") symlinkSync(entry.linkName, path);
  else if (entry.type === "fifo") libc.mknod(path, fifo | 0o600, 0, 0);
  else makeDevice(path, entry);
  adopt(root, at, entry, folderTimes);
}

const isWhiteout = (found: { isCharacterDevice(): boolean; rdev: number }) =>
  found.isCharacterDevice() && found.rdev === 0;

function makeOpaque(path: string): void {
  libc.lsetxattr(path, "trusted.overlay.opaque", Buffer.from("y"));
}

function whiteout(root: LayerRoot, parent: string, base: string, name: string): void {
  if (base === ".wh..wh..opq") return makeOpaque(root.absolute(parent));
  // Other names of this form are bookkeeping of the old aufs driver.
  if (base.startsWith(".wh..wh.")) return;
  const hidden = base.slice(".wh.".length);
  if (hidden === "" || hidden === "." || hidden === "..") throw escape(name, "it is not a whiteout of a name");
  const at = parent === "" ? hidden : `${parent}/${hidden}`;
  const before = root.look(at);
  // Speaks of the layers below only: what this layer brought itself stays, and hides them already unless it is a folder.
  if (before?.isDirectory()) makeOpaque(root.absolute(at));
  else if (!before) libc.mknod(root.absolute(at), charDevice, 0, 0);
}

async function hardLink(root: LayerRoot, entry: TarEntry, at: string): Promise<void> {
  const parts = root.components(entry.linkName);
  const base = parts.at(-1);
  if (base === undefined) throw escape(entry.name, "it is a hard link to the root");
  const folder = root.folder(parts.slice(0, -1), entry.name, false);
  const target = folder === "" ? base : `${folder}/${base}`;
  if (target === at) throw escape(entry.name, "it is a hard link to itself");
  const found = root.look(target);
  if (!found || isWhiteout(found))
    throw escape(entry.name, `it is a hard link to "${entry.linkName}", which this layer does not have`);
  if (found.isDirectory()) throw escape(entry.name, `it is a hard link to the folder "${entry.linkName}"`);
  const before = root.look(at);
  if (before) await root.clear(at, before);
  if (before?.isDirectory() && !root.look(target))
    throw escape(entry.name, "it takes the place of the folder it links into");
  linkSync(root.absolute(target), root.absolute(at));
}

function makeDevice(path: string, entry: TarEntry): void {
  if (entry.type === "block" || !harmlessDevices.has(`${entry.major}:${entry.minor}`)) {
    throw escape(
      entry.name,
      `it is a ${entry.type} device ${entry.major}:${entry.minor}, which an image may not bring`,
    );
  }
  libc.mknod(path, charDevice | 0o600, entry.major, entry.minor);
}

async function writeContent(path: string, entry: TarEntry): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  if (entry.size > smallFileBytes) {
    // A slow card may hold up large writes: they go through the thread pool.
    const file = await open(path, flags, 0o600);
    try {
      for await (const chunk of entry.content) await file.writeFile(chunk);
      await file.chown(entry.uid, entry.gid);
      await file.chmod(entry.mode);
    } finally {
      await file.close();
    }
    return;
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry.content) chunks.push(chunk);
  const file = openSync(path, flags, 0o600);
  try {
    for (const chunk of chunks) {
      for (let done = 0; done < chunk.length; ) done += writeSync(file, chunk, done);
    }
    fchownSync(file, entry.uid, entry.gid);
    fchmodSync(file, entry.mode);
  } finally {
    closeSync(file);
  }
}

/** Owner before mode, because a change of owner clears setuid; attributes after both; times last. */
function adopt(root: LayerRoot, at: string, entry: TarEntry, folderTimes: Map<string, number>): void {
  const path = root.absolute(at);
  // A file has both since it was written.
  if (entry.type !== "file") {
    lchownSync(path, entry.uid, entry.gid);
    if (entry.type !== "symlink") root.setMode(at, entry.mode);
  }
  for (const [name, value] of entry.xattrs) setAttribute(path, name, value);
  const mtime = Math.min(entry.mtime, latestTime);
  if (entry.type === "directory") folderTimes.set(at, mtime);
  else lutimesSync(path, mtime, mtime);
}

/** Only what images may bring: overlayfs trusts `trusted.` and `user.overlay.`, so an archive must not write them. */
function setAttribute(path: string, name: string, value: Buffer): void {
  const isAllowed = name === "security.capability" || (name.startsWith("user.") && !name.startsWith("user.overlay."));
  if (!isAllowed) return;
  try {
    libc.lsetxattr(path, name, value);
  } catch (error) {
    // A file system without attributes still runs the image; only file capabilities are lost, as elsewhere.
    if (!(error instanceof LibcError) || !["ENOTSUP", "EOPNOTSUPP", "EPERM"].includes(error.code)) throw error;
  }
}
