// Follows a container's CRI log from its present end, across rotations, and gives back the bytes that the container wrote.

import { watch } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { openRegularFile } from "../../../plugins/kit/os/safe-files/regular-file.ts";

export interface LogPiece {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Buffer;
}

const maxLineBytes = 1024 * 1024;

/** `time stream P|F text\n`: a partial line has no newline of its own. */
export function parseLogLine(line: Buffer): LogPiece | undefined {
  const first = line.indexOf(0x20);
  const second = line.indexOf(0x20, first + 1);
  const third = line.indexOf(0x20, second + 1);
  if (first < 0 || second < 0) return undefined;
  const stream = line.toString("latin1", first + 1, second);
  const tag = line.toString("latin1", second + 1, third < 0 ? line.length : third);
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  const text = third < 0 ? Buffer.alloc(0) : line.subarray(third + 1);
  return { stream, bytes: tag.startsWith("P") ? text : Buffer.concat([text, Buffer.from("\n")]) };
}

export class LogTail {
  readonly #path: string;
  #file: FileHandle | undefined;
  #position = 0;
  #rest = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** Begins at the present end. */
  async start(): Promise<void> {
    this.#file = await this.#open();
    this.#position = this.#file ? (await this.#file.stat()).size : 0;
  }

  /** What was written since the last read. */
  async read(): Promise<LogPiece[]> {
    const pieces: LogPiece[] = [];
    await this.#drain(pieces);
    const named = await this.#open();
    const [now, mine] = await Promise.all([named?.stat(), this.#file?.stat()]);
    if (!named || now?.ino === mine?.ino) {
      await named?.close();
      return pieces;
    }
    // Rotated: the old file is read to its end, the new one from its beginning.
    await this.#drain(pieces);
    await this.#file?.close();
    this.#file = named;
    this.#position = 0;
    await this.#drain(pieces);
    return pieces;
  }

  /** Undefined while it is missing, or no regular file. */
  #open(): Promise<FileHandle | undefined> {
    return openRegularFile(this.#path).catch(() => undefined);
  }

  async #drain(pieces: LogPiece[]): Promise<void> {
    const buffer = Buffer.alloc(64 * 1024);
    while (this.#file) {
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      this.#rest = Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]);
      for (let end = this.#rest.indexOf(0x0a); end >= 0; end = this.#rest.indexOf(0x0a)) {
        const piece = parseLogLine(this.#rest.subarray(0, end));
        if (piece) pieces.push(piece);
        this.#rest = this.#rest.subarray(end + 1);
      }
      if (this.#rest.length > maxLineBytes) this.#rest = Buffer.alloc(0);
    }
  }

  /** Calls back when there may be more; returns how to stop. */
  watch(wake: () => void): () => void {
    const name = basename(this.#path);
    const watcher = watch(dirname(this.#path), (_kind, changed) => {
      if (changed === null || changed === name) wake();
    });
    watcher.on("error", () => wake());
    return () => watcher.close();
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}
