// SQLite's journal as a file: made durable after each commit, and given its size ahead.
//
// SQLite itself calls fsync, which waits for the file's times and, while the file grows, its size to go through the file system's own
// journal: several times as long as the data takes, and as long as whatever else that journal holds. fdatasync on a file that has its
// size already writes the data and nothing else.

import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs";

/** A page at a time: kernels keep what was written at once in one piece, and count the whole piece as written when a part of it changes. */
const page = new Uint8Array(4096);
/** A disk with less room than so many times the reserve is not asked for it. */
const roomFactor = 16;

export class Journal {
  readonly #path: string;
  readonly #file: number;

  /** Of a database that is open and was read from: its journal is there from then on, and stays the same file. */
  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
    this.#file = openSync(this.#path, "r+");
  }

  /** Returns when all that was written to the journal so far is on the disk. */
  sync(): void {
    fdatasyncSync(this.#file);
  }

  /** Fills the file with zeros up to the size; SQLite takes them for the end of its journal. Does nothing on a small disk. */
  reserve(bytes: number): void {
    const before = fstatSync(this.#file).size;
    try {
      const { bavail, bsize } = statfsSync(this.#path);
      if (before >= bytes || bavail * bsize < bytes * roomFactor) return;
      for (let at = before; at < bytes; ) at += writeSync(this.#file, page, 0, Math.min(page.length, bytes - at), at);
    } catch {
      // Only speed is lost; what room was taken is given back.
      ftruncateSync(this.#file, before);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
