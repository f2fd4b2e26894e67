// A container's log file in CRI's format: `time stream P|F text`. Appends, reopens after rotation, and knows where it ended last time.

import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { openToAppend } from "../../../plugins/kit/os/safe-files/regular-file.ts";
import type { LogMessage } from "./log-messages.ts";
import { LogPosition, type SavedPosition } from "./log-position.ts";

type Stamped = Pick<LogMessage, "time" | "stream" | "isPartial">;

/** Enough for the last moments of most. */
const tailBytes = 1024 * 1024;
const newline = 0x0a;
/** Of a line, beside its text: stamp, stream, tag, three spaces and the newline. */
const overheadBytes = 30 + 6 + 1 + 3 + 1;

export class LogFile {
  readonly #path: string;
  readonly #statePath: string;
  readonly position = new LogPosition();
  #fd: number;

  /** `statePath` is where the position is kept across a rotation. */
  constructor(path: string, statePath: string) {
    this.#path = path;
    this.#statePath = statePath;
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    this.#fd = openToAppend(path, 0o640);
    this.#recall();
  }

  write(messages: readonly LogMessage[]): void {
    if (messages.length === 0) return;
    const size = messages.reduce((sum, { text }) => sum + overheadBytes + text.length, 0);
    const bytes = Buffer.allocUnsafe(size);
    let end = 0;
    for (const message of messages) {
      const { time, stream, isPartial, text } = message;
      this.position.add(message);
      end += bytes.write(`${time} ${stream} ${isPartial ? "P" : "F"} `, end, "latin1");
      end += text.copy(bytes, end);
      bytes[end++] = newline;
    }
    for (let at = 0; at < end; ) at += writeSync(this.#fd, bytes, at, end - at);
  }

  /** The file was moved away: goes on in a new one of the same name. */
  reopen(): void {
    this.save();
    const old = this.#fd;
    this.#fd = openToAppend(this.#path, 0o640);
    closeSync(old);
  }

  /** Whole or not at all, since it is needed after a crash. */
  save(): void {
    mkdirSync(dirname(this.#statePath), { recursive: true, mode: 0o700 });
    writeFileSync(`${this.#statePath}.tmp`, JSON.stringify(this.position.save()), { mode: 0o600 });
    renameSync(`${this.#statePath}.tmp`, this.#statePath);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Learns where the last life ended: from what was saved when it was last reopened, and from the end of the file. */
  #recall(): void {
    this.#recallSaved();
    for (let bytes = tailBytes; ; bytes *= 4) {
      const { lines, isWhole } = this.#readTail(bytes);
      const first = isWhole ? undefined : lines[0]?.time;
      const last = (stream: string) => lines.findLast((line) => line.stream === stream)?.time;
      // Of the last stamp all messages must be in sight, because they are counted.
      if (first !== undefined && (last("stdout") === first || last("stderr") === first)) continue;
      for (const line of lines) if (line.time !== first) this.position.add(line);
      return;
    }
  }

  /** The last lines; one that a crash cut short is taken away, to be written again. */
  #readTail(bytes: number): { lines: Stamped[]; isWhole: boolean } {
    const { size } = fstatSync(this.#fd);
    const tail = Buffer.alloc(Math.min(size, bytes));
    readSync(this.#fd, tail, 0, tail.length, size - tail.length);
    const isWhole = tail.length === size;
    const end = tail.lastIndexOf(newline) + 1;
    if (end < tail.length && (end > 0 || isWhole)) ftruncateSync(this.#fd, size - tail.length + end);
    const begin = isWhole ? 0 : tail.indexOf(newline) + 1;
    const lines = tail.toString("latin1", begin, end).split("\n").slice(0, -1);
    return { lines: lines.map(parseLine).filter((line) => line !== undefined), isWhole };
  }

  #recallSaved(): void {
    try {
      this.position.load(JSON.parse(readFileSync(this.#statePath, "utf8")) as SavedPosition);
    } catch (error) {
      // Absent unless the log was ever rotated; a broken one cannot be, since it is renamed into place.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" && !(error instanceof SyntaxError)) throw error;
    }
  }
}

export function forgetLogState(statePath: string): void {
  rmSync(statePath, { force: true });
}

function parseLine(line: string): Stamped | undefined {
  const [time = "", stream, tag = ""] = line.split(" ", 3);
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  return { time, stream, isPartial: tag.startsWith("P") };
}
