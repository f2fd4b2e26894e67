// Turns what `/containers/{id}/logs` sends into messages: one per line or piece of a line, with the daemon's own time.

import { FrameReader, type OutputName } from "../engine/frames.ts";

export interface LogMessage {
  /** RFC 3339 with nanoseconds, in UTC, as the daemon wrote it: 30 characters. */
  readonly time: string;
  readonly stream: OutputName;
  readonly text: Buffer;
  /** More of the same line follows. */
  readonly isPartial: boolean;
}

const stampBytes = 30;
/** The daemon cuts longer lines into pieces of exactly this many bytes. */
const pieceBytes = 16 * 1024;
const newline = 0x0a;
const stampPattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z /g;

/** Reads the framed log of a container without a terminal, or the bare one of a container with one. */
export class LogMessageReader {
  readonly #frames = new FrameReader();
  readonly #isTerminal: boolean;
  readonly #isOpen: Record<OutputName, boolean> = { stdout: false, stderr: false };
  #rest: Buffer = Buffer.alloc(0);

  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
  }

  read(chunk: Buffer): LogMessage[] {
    if (this.#isTerminal) return this.#readBare(chunk, false);
    return this.#frames.read(chunk).map(({ stream, bytes }) => this.#message(stream, bytes));
  }

  /** What is left at the end of the stream. */
  end(): LogMessage[] {
    return this.#isTerminal ? this.#readBare(Buffer.alloc(0), true) : [];
  }

  /**
   * A piece without a newline is the middle of a line when it is as long as pieces get; a shorter one after such ends the line, because
   * one of the daemon's drivers drops the newline there; a shorter one alone is all that a program wrote before it ended.
   */
  #message(stream: OutputName, bytes: Buffer): LogMessage {
    const time = bytes.toString("latin1", 0, stampBytes);
    const body = bytes.subarray(stampBytes + 1);
    const hasNewline = body.at(-1) === newline;
    const text = hasNewline ? body.subarray(0, -1) : body;
    const isLastPiece = this.#isOpen[stream] && text.length < pieceBytes;
    const isPartial = !hasNewline && !isLastPiece;
    this.#isOpen[stream] = isPartial;
    return { time, stream, text, isPartial };
  }

  #readBare(chunk: Buffer, isEnd: boolean): LogMessage[] {
    let data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const messages: LogMessage[] = [];
    for (let size = this.#bareSize(data, isEnd); size > 0; size = this.#bareSize(data, isEnd)) {
      messages.push(this.#message("stdout", data.subarray(0, size)));
      data = data.subarray(size);
    }
    this.#rest = data;
    return messages;
  }

  /** Bytes of the first message, or 0 while it is not whole. */
  #bareSize(data: Buffer, isEnd: boolean): number {
    const begin = stampBytes + 1;
    if (data.length < begin) return 0;
    const most = begin + pieceBytes;
    const window = data.subarray(begin, most + 1);
    const end = window.indexOf(newline);
    const line = end < 0 ? window : window.subarray(0, end);
    if (this.#isOpen.stdout) {
      // The end of a long line may come without its newline, right before the next message.
      stampPattern.lastIndex = 0;
      const next = stampPattern.exec(line.toString("latin1"));
      if (next) return begin + next.index;
    }
    if (end >= 0) return begin + end + 1;
    if (data.length > most) return most;
    return isEnd ? data.length : 0;
  }
}
