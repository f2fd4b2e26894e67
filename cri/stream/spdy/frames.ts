// SPDY/3.1 frames as bytes: what is written, and a reader that hands data on as it comes, so that a frame's length
// never decides how much memory it takes.

import { Fault } from "../../../plugins/kit/base/fault.ts";

export const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const resetStatus = { protocolError: 1, invalidStream: 2, refused: 3, cancel: 5, internalError: 6 } as const;

export const flagFin = 1;
export const settingInitialWindow = 7;

// Control frames carry a few headers at most; data has no limit but its 24 bits.
const longestControl = 128 * 1024;

export interface ControlFrame {
  readonly kind: "control";
  readonly type: number;
  readonly flags: number;
  readonly payload: Buffer;
}

export interface DataFrame {
  readonly kind: "data";
  readonly streamId: number;
  /** A piece of the frame; the last one of a frame that ends the stream has `fin`. */
  readonly data: Buffer;
  readonly fin: boolean;
}

export type Frame = ControlFrame | DataFrame;

export function controlFrame(type: number, flags: number, ...payload: Buffer[]): Buffer {
  const body = Buffer.concat(payload);
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8003, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(body.length, 4);
  head.writeUInt8(flags, 4);
  return Buffer.concat([head, body]);
}

/** The eight bytes that go before `length` bytes of data. */
export function dataHead(streamId: number, flags: number, length: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(length, 4);
  head.writeUInt8(flags, 4);
  return head;
}

export function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
}

interface Pending {
  readonly streamId: number;
  readonly fin: boolean;
  left: number;
}

export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #data: Pending | undefined;

  /** The frames that `chunk` completes, and pieces of the data frame it lies in. */
  *read(chunk: Buffer): Generator<Frame> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const frame = this.#data ? this.#dataPiece(this.#data) : this.#next();
      if (!frame) return;
      if (frame !== "more") yield frame;
    }
  }

  #dataPiece(pending: Pending): DataFrame | undefined {
    if (pending.left > 0 && this.#rest.length === 0) return undefined;
    const data = this.#take(Math.min(pending.left, this.#rest.length));
    pending.left -= data.length;
    const isLast = pending.left === 0;
    if (isLast) this.#data = undefined;
    return { kind: "data", streamId: pending.streamId, data, fin: isLast && pending.fin };
  }

  #next(): ControlFrame | "more" | undefined {
    if (this.#rest.length < 8) return undefined;
    const first = this.#rest.readUInt32BE(0);
    const flags = this.#rest.readUInt8(4);
    const length = this.#rest.readUInt32BE(4) & 0xffffff;
    if (first < 0x80000000) {
      this.#take(8);
      this.#data = { streamId: first, fin: (flags & flagFin) !== 0, left: length };
      return "more";
    }
    if (first >>> 16 !== 0x8003) throw new Fault("invalid", "not SPDY version 3");
    if (length > longestControl) throw new Fault("invalid", `SPDY control frame of ${length} bytes is too long`);
    if (this.#rest.length < 8 + length) return undefined;
    this.#take(8);
    return { kind: "control", type: first & 0xffff, flags, payload: this.#take(length) };
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}
