// From a log file's bytes to what the client asked to see: streams and times chosen, partial lines joined, bounded.

import { fullTime, nanosecondsOf, parseLogLine } from "./log-line.ts";

export interface LogChoice {
  readonly timestamps: boolean;
  /** Nanoseconds since 1970; lines before it are left out. */
  readonly since?: bigint;
  readonly limitBytes?: number;
  readonly stream?: "stdout" | "stderr";
}

const newline = 0x0a;
const lineEnd = Buffer.from("\n");

export class LogText {
  readonly #choice: LogChoice;
  #rest: Buffer = Buffer.alloc(0);
  #left: number;
  #isMidLine = false;

  constructor(choice: LogChoice) {
    this.#choice = choice;
    this.#left = choice.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** No byte more may be shown. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** What the next bytes of the file add. */
  push(bytes: Buffer): Buffer {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes;
    const shown: Buffer[] = [];
    let from = 0;
    for (let at = data.indexOf(newline); at >= 0; at = data.indexOf(newline, from)) {
      this.#show(data.subarray(from, at), shown);
      from = at + 1;
    }
    this.#rest = Buffer.from(data.subarray(from));
    return this.#bounded(Buffer.concat(shown));
  }

  /** The file begins anew; half a line of the old one will not be continued. */
  restart(): void {
    this.#rest = Buffer.alloc(0);
  }

  #show(raw: Buffer, shown: Buffer[]): void {
    const line = parseLogLine(raw);
    if (!line) return;
    const { timestamps, since, stream } = this.#choice;
    if (stream !== undefined && line.stream !== stream) return;
    if (since !== undefined && (nanosecondsOf(line.time) ?? since) < since) return;
    if (timestamps && !this.#isMidLine) shown.push(Buffer.from(`${fullTime(line.time)} `));
    shown.push(line.content);
    if (!line.isPartial) shown.push(lineEnd);
    this.#isMidLine = line.isPartial;
  }

  #bounded(bytes: Buffer): Buffer {
    const fitting = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= fitting.length;
    return fitting;
  }
}
