// SQLite's journal as a file: made durable after each commit, and given its size ahead.
//
// SQLite itself calls fsync, which waits for the file's times and, while the file grows, its size to go through the file system's own
// journal: several times as long as the data takes, and as long as whatever else that journal holds. fdatasync on a file that has its
// size already writes the data and nothing else; on one that grew it writes the size too, since the data could not be read without.

import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync, statfsSync, writeSync } from "node:fs";

/** A page at a time: kernels keep what was written at once in one piece, and count the whole piece as written when a part of it changes. */
const pageBytes = 4096;
/** A disk with less room than so many times the reserve is not asked for it. */
const roomFactor = 16;

export class Journal {
  readonly #path: string;
  readonly #file: number;
  readonly #fdatasync: (file: number) => void;
  /** Some of it may be neither on the disk nor among what the kernel still means to write. */
  #isDoubtful = false;

  /** Of a database that is open and was read from: its journal is there from then on, and stays the same file. */
  constructor(databasePath: string, fdatasync: (file: number) => void = fdatasyncSync) {
    this.#path = `${databasePath}-wal`;
    this.#file = openSync(this.#path, "r+");
    this.#fdatasync = fdatasync;
  }

  /** Returns when all that was written to the journal so far is on the disk; throws where that is not sure. */
  sync(): void {
    if (this.#isDoubtful) this.#writeAgain();
    this.#isDoubtful = true;
    this.#fdatasync(this.#file);
    this.#isDoubtful = false;
  }

  /**
   * The kernel tells of a write that failed once, and then takes the pages for written: the next fdatasync would succeed without them, and
   * commits behind a hole in the journal are lost with it. It still has the pages, so they are given to it anew.
   */
  #writeAgain(): void {
    const page = new Uint8Array(pageBytes);
    for (let at = 0; ; ) {
      const count = readSync(this.#file, page, 0, pageBytes, at);
      if (count === 0) return;
      at += writeSync(this.#file, page, 0, count, at);
    }
  }

  /** Fills the file with zeros up to the size; SQLite takes them for the end of its journal. Does nothing on a small disk. */
  reserve(bytes: number): void {
    const before = fstatSync(this.#file).size;
    try {
      const { bavail, bsize } = statfsSync(this.#path);
      if (before >= bytes || bavail * bsize < bytes * roomFactor) return;
      const zeros = new Uint8Array(pageBytes);
      for (let at = before; at < bytes; ) at += writeSync(this.#file, zeros, 0, Math.min(pageBytes, bytes - at), at);
    } catch {
      // Only speed is lost; what room was taken is given back.
      ftruncateSync(this.#file, before);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
