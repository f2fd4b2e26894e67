// Turns puts long synchronous steps one behind the other with a round of the event loop between them: bodies that arrive together are
// not decoded in one stretch, nor all expressions of a policy compiled, during which no other connection would be looked at.

import { setImmediate } from "node:timers";

export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is the caller's turn. The turn ends with the work that the caller does without waiting. */
  take(): Promise<void> {
    const turn = this.#last.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
    this.#last = turn;
    return turn;
  }
}
