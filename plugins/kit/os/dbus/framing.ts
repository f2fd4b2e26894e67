// Whole messages out of bytes that come in pieces.

import { decodeMessage, type DbusMessage, messageLength } from "./message.ts";

export class MessageFraming {
  #pieces: Buffer[] = [];
  #length = 0;
  #wanted = 0;

  /** The messages that are complete with these bytes. Fault `invalid` where they are none: nothing after that can be trusted. */
  add(bytes: Buffer): DbusMessage[] {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    const complete: DbusMessage[] = [];
    while (this.#length > 0 && this.#length >= this.#wanted) {
      const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
      this.#pieces = [all];
      const length = messageLength(all);
      if (length === undefined || length > all.length) {
        this.#wanted = length ?? 0;
        break;
      }
      const message = decodeMessage(all.subarray(0, length));
      if (message) complete.push(message);
      this.#pieces = [all.subarray(length)];
      this.#length = all.length - length;
      this.#wanted = 0;
    }
    return complete;
  }
}
