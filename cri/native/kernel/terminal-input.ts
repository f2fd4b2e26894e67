// What is typed into a terminal, written to its near side without ever waiting for the program at the far one. The event loop's own streams
// wait: libuv has no other way for the near side, and a program that does not read would hold up the whole process, for ever.

import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { libc, LibcError } from "./libc.ts";

const [shortestMs, longestMs] = [1, 100];

export interface TerminalInputOptions {
  /** Does not block; somebody else's to close. */
  readonly fd: number;
  /** False from before the descriptor is closed. */
  readonly isOpen: () => boolean;
  readonly clock: Clock;
  /** Called when what was held up is written. */
  readonly onDrain: () => void;
}

export class TerminalInput {
  readonly #options: TerminalInputOptions;
  #held: Buffer = Buffer.alloc(0);
  #retryMs = shortestMs;
  #cancel = () => {};

  constructor(options: TerminalInputOptions) {
    this.#options = options;
  }

  /** False when some of it is held up; more may be written all the same. */
  write(data: Buffer): boolean {
    const isFirst = this.#held.length === 0;
    this.#held = isFirst ? data : Buffer.concat([this.#held, data]);
    if (isFirst) this.#pass();
    return this.#held.length === 0;
  }

  /** After the end nobody reads: what is held is forgotten. */
  close(): void {
    this.#cancel();
    this.#held = Buffer.alloc(0);
  }

  #pass(): void {
    const before = this.#held.length;
    while (this.#held.length > 0) {
      const written = this.#options.isOpen() ? tryWrite(this.#options.fd, this.#held) : this.#held.length;
      if (written === 0) break;
      this.#held = this.#held.subarray(written);
    }
    if (this.#held.length === 0) return;
    this.#retryMs = this.#held.length < before ? shortestMs : Math.min(this.#retryMs * 2, longestMs);
    this.#cancel = this.#options.clock.after(this.#retryMs, () => {
      this.#pass();
      if (this.#held.length === 0) this.#options.onDrain();
    });
  }
}

/** How many bytes the terminal took: none while it is full, and all where nobody is at the far side any more. */
function tryWrite(fd: number, data: Buffer): number {
  try {
    return libc.write(fd, data);
  } catch (error) {
    if (error instanceof LibcError && (error.code === "EAGAIN" || error.code === "EINTR")) return 0;
    return data.length;
  }
}
