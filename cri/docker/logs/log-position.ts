// Remembers how far a container's log was taken over, so that going on after any break loses and doubles nothing.
//
// The daemon stamps each stream by itself, in order; between the two streams stamps may be a little out of order. So each stream has a
// position of its own: the last stamp, and how many messages had it. Stamps are of one width and in UTC: they compare as text.

import { toNanoseconds } from "../engine/types.ts";
import type { OutputName } from "../engine/frames.ts";
import type { LogMessage } from "./log-messages.ts";

type Stamped = Pick<LogMessage, "time" | "stream" | "isPartial">;

interface StreamPosition {
  readonly time: string;
  /** How many messages had this stamp: pieces of one line do. */
  readonly count: number;
  /** The last was a piece of a line that goes on. */
  readonly isOpen: boolean;
}

export type SavedPosition = Partial<Record<OutputName, StreamPosition>>;

/** How far apart the stamps of two streams may be when they are written. */
const skewNs = 1_000_000_000n;

export class LogPosition {
  readonly #last: SavedPosition = {};
  readonly #passed: Record<OutputName, number> = { stdout: 0, stderr: 0 };
  #known: SavedPosition = {};

  add({ time, stream, isPartial }: Stamped): void {
    const last = this.#last[stream];
    const count = last?.time === time ? last.count + 1 : 1;
    this.#last[stream] = { time, count, isOpen: isPartial };
  }

  /** What to ask the daemon for, as `since`; undefined for all. From here on `isNew` passes by what is known. */
  resume(): string | undefined {
    this.#known = { ...this.#last };
    this.#passed.stdout = this.#passed.stderr = 0;
    const streams = Object.values(this.#last);
    if (streams.length === 0) return undefined;
    const stamps = streams.map(({ time }) => toNanoseconds(time));
    const latest = stamps.reduce((most, at) => (at > most ? at : most), 0n);
    // A line that is still open keeps the stamp of its beginning, however old.
    const open = streams.filter(({ isOpen }) => isOpen).map(({ time }) => toNanoseconds(time));
    const since = open.reduce((least, at) => (at < least ? at : least), latest - skewNs);
    return `${since / 1_000_000_000n}.${String(since % 1_000_000_000n).padStart(9, "0")}`;
  }

  isNew({ time, stream }: Stamped): boolean {
    const known = this.#known[stream];
    if (known === undefined) return true;
    if (time === known.time && this.#passed[stream] < known.count) {
      this.#passed[stream]++;
      return false;
    }
    if (time < known.time) return false;
    // Past what is known: nothing of this stream is compared any more.
    delete this.#known[stream];
    return true;
  }

  save(): SavedPosition {
    return { ...this.#last };
  }

  load(saved: SavedPosition): void {
    Object.assign(this.#last, saved);
  }
}
