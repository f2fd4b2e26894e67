// Two connections made one: bytes both ways with back-pressure. Owns how they end together.
//
// Invariant: what one side has said reaches the other, also when the side that said it breaks right after. A TLS socket holds
// back what is written until the turn's end, so that destroying it because its counterpart is gone would lose the last words.

import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "./clock.ts";

/** What a side gets to take in the last words and to end, once the other is gone. */
const lingerMs = 10_000;

/**
 * An end is passed on as an end, so that half-open connections stay half open. Resolves when both sides are closed; never rejects:
 * a side that breaks has merely ended.
 */
export function joinStreams(one: Duplex, other: Duplex, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    let open = 2;
    const carry = (from: Duplex, to: Duplex) => {
      const gone = () => {
        if (!to.writableEnded) to.end();
        // What it still says has nowhere to go, and must be read for its end to be seen.
        to.unpipe(from);
        to.resume();
        const cancel = clock.after(lingerMs, () => to.destroy());
        if (to.closed) cancel();
        else to.once("close", cancel);
        if (--open === 0) resolve();
      };
      from.on("error", ignored);
      from.pipe(to);
      if (from.closed) gone();
      else from.once("close", gone);
    };
    carry(one, other);
    carry(other, one);
  });
}

/** "close" follows, and is what counts. */
const ignored = () => {};
