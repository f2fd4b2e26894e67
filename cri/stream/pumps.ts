// Moves bytes between a session's streams and the wire, with back-pressure and without ending what others own.

import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "../api/sessions.ts";
import { sizeMessage } from "./sizes.ts";

/** Passes everything on, and the end too. The returned function lets go of `from`. */
export function pumpInput(from: Readable, to: Writable): () => void {
  from.pipe(to);
  // Input after the far side's end goes nowhere, and that is no fault.
  to.on("error", ignored);
  return () => from.unpipe(to);
}

/** Resolves when `from` has ended and `to` has taken it all; `to` stays open, with no listener of ours left on it. */
export function pumpOutput(from: Readable, to: Writable): Promise<void> {
  return new Promise((resolve) => {
    // A reader that is gone: what is left is read away, so that the far side is not held for ever.
    const readAway = () => void from.resume();
    const done = () => {
      from.off("end", done).off("close", done).unpipe(to);
      to.off("close", readAway);
      void flushed(to).then(() => {
        to.off("error", ignored);
        resolve();
      });
    };
    to.on("close", readAway).on("error", ignored);
    from.on("end", done).on("close", done);
    from.pipe(to, { end: false });
  });
}

/** A reader's trouble is the reader's: the session ends in its own way. */
const ignored = () => {};

/** Everything on a short stream, up to 64 KiB. */
export function collectText(from: Readable): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    from.on("data", (chunk: Buffer) => {
      if (length < 65_536) chunks.push(chunk);
      length += chunk.length;
    });
    const done = () => resolve(Buffer.concat(chunks).toString());
    from.once("end", done);
    from.once("close", done);
  });
}

export async function pumpSizes(
  sizes: AsyncIterable<TerminalSize>,
  send: (text: string) => void,
  over: AbortSignal,
): Promise<void> {
  for await (const size of sizes) {
    if (over.aborted) return;
    send(sizeMessage(size));
  }
}

function flushed(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (to.destroyed || to.writableEnded || to.writableLength === 0) return resolve();
    const done = () => {
      to.off("close", done);
      resolve();
    };
    to.on("close", done);
    // Its callback comes after those of all writes before it.
    to.write(Buffer.alloc(0), done);
  });
}
