// The size that a terminal begins with: clients send theirs right after the session opens, and a program that asks at once must
// see it. So a session waits a moment for it before it starts anything.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { TerminalSize } from "./sessions.ts";

/** Long enough for a client across a network; a client that sends no size loses this once. */
const patienceMs = 150;

export interface Sizes {
  readonly first?: TerminalSize;
  /** Those after the first, until the session is over. Ends by itself when the client is gone. */
  readonly later: AsyncIterable<TerminalSize>;
}

export async function firstSize(sizes: AsyncIterable<TerminalSize> | undefined, clock: Clock): Promise<Sizes> {
  if (!sizes) return { later: followed(undefined, undefined) };
  const iterator = sizes[Symbol.asyncIterator]();
  const next = iterator.next();
  let cancel = () => {};
  const patience = new Promise<undefined>((resolve) => {
    cancel = clock.after(patienceMs, () => resolve(undefined));
  });
  try {
    const came = await Promise.race([next, patience]);
    if (!came) return { later: followed(iterator, next) };
    return came.done || !isSize(came.value)
      ? { later: followed(iterator, undefined) }
      : { first: came.value, later: followed(iterator, undefined) };
  } catch {
    // The client is gone; the session finds out by itself.
    return { later: followed(undefined, undefined) };
  } finally {
    cancel();
  }
}

const isSize = ({ width, height }: TerminalSize) => width > 0 && height > 0;

async function* followed(
  iterator: AsyncIterator<TerminalSize> | undefined,
  pending: Promise<IteratorResult<TerminalSize>> | undefined,
): AsyncGenerator<TerminalSize> {
  if (!iterator) return;
  try {
    for (let next = await (pending ?? iterator.next()); !next.done; next = await iterator.next()) {
      if (isSize(next.value)) yield next.value;
    }
  } catch {
    // The client is gone, or the terminal; either way the session ends by itself.
  }
}
