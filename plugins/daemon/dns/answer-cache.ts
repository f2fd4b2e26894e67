// Answers of upstream servers, kept for as long as they say, and given out with the time they have left.

import type { Clock } from "../../kit/base/clock.ts";

interface Cached {
  readonly bytes: Buffer;
  /** Where the TTL fields stand. */
  readonly ttlOffsets: readonly number[];
  readonly storedAt: number;
  readonly expiresAt: number;
}

const longestSeconds = 3600;
const longestNegativeSeconds = 30;

export class AnswerCache {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #answers = new Map<string, Cached>();

  constructor(clock: Clock, capacity = 2000) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  /** A copy with the id and the remaining times filled in. */
  get(key: string, id: number): Buffer | undefined {
    const cached = this.#answers.get(key);
    if (!cached) return undefined;
    const now = this.#clock.monotonic();
    if (now >= cached.expiresAt) {
      this.#answers.delete(key);
      return undefined;
    }
    // Used just now: the last to be thrown out.
    this.#answers.delete(key);
    this.#answers.set(key, cached);
    const bytes = Buffer.from(cached.bytes);
    bytes.writeUInt16BE(id, 0);
    const age = Math.floor((now - cached.storedAt) / 1000);
    for (const at of cached.ttlOffsets) bytes.writeUInt32BE(Math.max(0, bytes.readUInt32BE(at) - age), at);
    return bytes;
  }

  /** Keeps what may be kept: whole answers that succeeded or say that there is nothing. */
  put(key: string, bytes: Buffer): void {
    const times = readTimes(bytes);
    const flags = bytes.readUInt16BE(2);
    const code = flags & 15;
    if (!times || flags & 0x200 || (code !== 0 && code !== 3) || bytes.length > 4096) return;
    const isNegative = bytes.readUInt16BE(6) === 0;
    const seconds = Math.min(times.least, isNegative ? longestNegativeSeconds : longestSeconds);
    if (seconds <= 0) return;
    const now = this.#clock.monotonic();
    this.#answers.delete(key);
    this.#answers.set(key, {
      bytes: Buffer.from(bytes),
      ttlOffsets: times.offsets,
      storedAt: now,
      expiresAt: now + seconds * 1000,
    });
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.#capacity) break;
      this.#answers.delete(oldest);
    }
  }
}

/** The TTL fields of a message and the least of them; undefined when it has none or is malformed. */
function readTimes(bytes: Buffer): { offsets: number[]; least: number } | undefined {
  const offsets: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  let at = 12;
  const skipName = () => {
    for (;;) {
      const size = bytes[at];
      if (size === undefined) throw new RangeError("cut");
      if (size === 0) return void (at += 1);
      if ((size & 0xc0) === 0xc0) return void (at += 2);
      at += size + 1;
    }
  };
  try {
    for (let index = bytes.readUInt16BE(4); index > 0; index--) {
      skipName();
      at += 4;
    }
    for (let index = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10); index > 0; index--) {
      skipName();
      // The TTL of an OPT record is no time.
      if (bytes.readUInt16BE(at) !== 41) {
        offsets.push(at + 4);
        least = Math.min(least, bytes.readUInt32BE(at + 4));
      }
      at += 10 + bytes.readUInt16BE(at + 8);
    }
  } catch {
    // Not a message that we understand: passed on, but not kept.
    return undefined;
  }
  return offsets.length > 0 ? { offsets, least } : undefined;
}
