// A directory that is held open: whatever happens to its path meanwhile, work on its entries stays inside it. Root works below volumes,
// logs and root file systems only through these, because a container can swap any component of a path there for a symbolic link.
//
// Every operation takes the name of one entry, never a path, and does not follow it when it is a link: the runtime's file functions are
// given /proc/self/fd/<handle>/<name>, which the kernel resolves from the open directory.

import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { Fault } from "../../base/fault.ts";
import { closeHandle, isNoDirectory, openDirectory, openEntry } from "./calls.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Without an owner, what is made is the process's own, and what is there keeps its. */
export interface FileAttributes extends Partial<Owner> {
  readonly mode: number;
}

export class Folder {
  readonly handle: number;
  #isOpen = true;

  /** Takes the handle over. */
  constructor(handle: number) {
    this.handle = handle;
  }

  /**
   * The path's parent directories must be the agent's own, or the administrator's. Its last component is not followed when it is a link,
   * unless that is the agent's own, too. Fault `not-found` or `forbidden`.
   */
  static open(path: string, options: { followsLink?: boolean } = {}): Folder {
    return new Folder(openDirectory(path, options));
  }

  /** May be called twice. */
  close(): void {
    if (this.#isOpen) closeHandle(this.handle);
    this.#isOpen = false;
  }

  /** The directory itself, for functions that take paths. Valid until closed. */
  get path(): string {
    return `/proc/self/fd/${this.handle}`;
  }

  /** An entry, for functions that take paths and do not follow links. Valid until closed. */
  at(name: string): string {
    if (!isName(name)) throw new Fault("invalid", `"${name}" is not the name of a directory entry`);
    return `${this.path}/${name}`;
  }

  stats(): Stats {
    return statSync(this.path);
  }

  names(): string[] {
    return readdirSync(this.path);
  }

  /** Undefined where there is none. */
  look(name: string): Stats | undefined {
    return lstatSync(this.at(name), { throwIfNoEntry: false });
  }

  /** The target of a symbolic link; undefined where there is none. */
  linkTarget(name: string): string | undefined {
    try {
      return readlinkSync(this.at(name));
    } catch (error) {
      if (isMissing(error) || (error as NodeJS.ErrnoException).code === "EINVAL") return undefined;
      throw error;
    }
  }

  /** The directory of this name; undefined where there is none, or something else. */
  folder(name: string): Folder | undefined {
    if (!isName(name)) throw new Fault("invalid", `"${name}" is not the name of a directory entry`);
    try {
      return new Folder(openEntry(this.handle, name, { mustBeDirectory: true }));
    } catch (error) {
      if (isNoDirectory(error)) return undefined;
      throw error;
    }
  }

  /** A new directory, open. Fails where the name is taken, by whatever. */
  makeFolder(name: string, attributes?: FileAttributes): Folder {
    mkdirSync(this.at(name), { mode: 0o700 });
    const made = this.folder(name);
    if (!made) throw new Fault("conflict", `directory "${name}" was replaced while it was made`);
    try {
      if (attributes) made.own(attributes);
      return made;
    } catch (error) {
      made.close();
      throw error;
    }
  }

  /** A new file. Fails where the name is taken, by whatever. */
  makeFile(name: string, data: Uint8Array, { mode, uid = -1, gid = -1 }: FileAttributes): void {
    const file = openSync(this.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for (let done = 0; done < data.length; ) done += writeSync(file, data, done);
      fchownSync(file, uid, gid);
      // Mode last: a change of owner clears bits of it.
      fchmodSync(file, mode);
    } finally {
      closeSync(file);
    }
  }

  makeLink(name: string, target: string, owner?: Owner): void {
    symlinkSync(target, this.at(name));
    if (owner) lchownSync(this.at(name), owner.uid, owner.gid);
  }

  /** Of the directory itself. */
  own({ mode, uid = -1, gid = -1 }: FileAttributes): void {
    chownSync(this.path, uid, gid);
    chmodSync(this.path, mode);
  }

  setOwnMode(mode: number): void {
    chmodSync(this.path, mode);
  }

  /** Of an entry that is not a link; a link in its place is left alone. */
  setMode(name: string, mode: number): void {
    const handle = openEntry(this.handle, name);
    try {
      const self = `/proc/self/fd/${handle}`;
      if (!statSync(self).isSymbolicLink()) chmodSync(self, mode);
    } finally {
      closeHandle(handle);
    }
  }

  /** Inside the directory; replaces what is there as rename(2) does. */
  rename(from: string, to: string): void {
    renameSync(this.at(from), this.at(to));
  }

  /** Anything but a directory; nothing there is fine. */
  removeFile(name: string): void {
    unlessMissing(() => unlinkSync(this.at(name)));
  }

  /** An empty directory; nothing there is fine. */
  removeFolder(name: string): void {
    unlessMissing(() => rmdirSync(this.at(name)));
  }
}

/** Opens a directory for the time of the work. */
export async function withFolder<T>(path: string, work: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = Folder.open(path);
  try {
    return await work(folder);
  } finally {
    folder.close();
  }
}

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

const isName = (name: string) =>
  name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("\0");

function unlessMissing(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
