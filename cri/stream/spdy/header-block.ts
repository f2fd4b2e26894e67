// Header blocks of SPDY/3: pairs of names and values in one zlib stream per direction and connection.

import { constants, createInflate, type Inflate } from "node:zlib";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { headerDictionary, headerDictionaryId } from "./dictionary.ts";

/** Names in lower case. A name with several values has them joined by NUL. */
export type Headers = Readonly<Record<string, string>>;

// Kubernetes sends a handful of short ones; a compressed bomb is stopped here.
const longestBlock = 64 * 1024;

/**
 * Writes blocks as stored (not compressed) deflate: valid for every reader, with no compressor of 256 KB to keep for
 * what is a hundred bytes. An empty stored block ends each, which makes readers hand on what they have.
 */
export class HeaderWriter {
  #begun = false;

  encode(headers: Headers): Buffer {
    const plain = pairs(headers);
    const parts = [stored(plain), stored(Buffer.alloc(0))];
    if (!this.#begun) {
      // Deflate with a 32 KB window and a preset dictionary.
      const head = Buffer.from([0x78, 0xbb, 0, 0, 0, 0]);
      head.writeUInt32BE(headerDictionaryId, 2);
      parts.unshift(head);
      this.#begun = true;
    }
    return Buffer.concat(parts);
  }
}

function stored(data: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(data.length, 1);
  head.writeUInt16LE(data.length ^ 0xffff, 3);
  return Buffer.concat([head, data]);
}

function pairs(headers: Headers): Buffer {
  const entries = Object.entries(headers);
  const parts = [number(entries.length)];
  for (const [name, value] of entries) parts.push(text(name.toLowerCase()), text(value));
  const block = Buffer.concat(parts);
  if (block.length > 0xffff) throw new Fault("invalid", "SPDY headers are longer than 64 KiB");
  return block;
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

/** Reads blocks one at a time and in order: await each before the next. */
export class HeaderReader {
  readonly #inflate: Inflate;
  #plain: Buffer = Buffer.alloc(0);
  #wake: () => void = () => {};
  #broken: Fault | undefined;

  constructor() {
    this.#inflate = createInflate({ dictionary: headerDictionary, finishFlush: constants.Z_SYNC_FLUSH });
    this.#inflate.on("data", (chunk: Buffer) => {
      if (this.#plain.length + chunk.length > longestBlock) this.#fail("too long");
      else this.#plain = Buffer.concat([this.#plain, chunk]);
      this.#wake();
    });
    this.#inflate.on("error", (error) => this.#fail(error.message));
  }

  async decode(block: Buffer): Promise<Headers> {
    let consumed = false;
    this.#inflate.write(block, () => {
      // What the block holds is handed on at the latest in the turn after it was consumed.
      setImmediate(() => {
        consumed = true;
        this.#wake();
      });
    });
    for (;;) {
      if (this.#broken) throw this.#broken;
      const found = parsePairs(this.#plain);
      if (found) {
        this.#plain = this.#plain.subarray(found.length);
        return found.headers;
      }
      if (consumed) this.#fail("cut short");
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    this.#inflate.destroy();
  }

  #fail(why: string): void {
    this.#broken ??= new Fault("invalid", `SPDY header block is ${why}`);
    this.#wake();
  }
}

/** Undefined while the block is incomplete. */
function parsePairs(block: Buffer): { headers: Headers; length: number } | undefined {
  let at = 0;
  const readNumber = () => {
    if (at + 4 > block.length) return undefined;
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const readText = () => {
    const length = readNumber();
    if (length === undefined || at + length > block.length) return undefined;
    at += length;
    return block.toString("utf8", at - length, at);
  };
  const count = readNumber();
  if (count === undefined) return undefined;
  const headers: Record<string, string> = Object.create(null);
  for (let n = 0; n < count; n++) {
    const name = readText();
    const value = name === undefined ? undefined : readText();
    if (name === undefined || value === undefined) return undefined;
    headers[name.toLowerCase()] = value;
  }
  return { headers, length: at };
}
