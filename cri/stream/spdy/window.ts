// One side's permission to send: SPDY/3.1's flow control window of a stream or of a whole connection.

export class SendWindow {
  #left: number;
  #waiting: (() => void)[] = [];

  constructor(left: number) {
    this.#left = left;
  }

  /** How much of `wanted` may go now; at least 1. Waits while there is none. */
  async take(wanted: number): Promise<number> {
    while (this.#left <= 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  /** May be negative: a peer may shrink the window under what is under way. */
  add(more: number): void {
    this.#left += more;
    if (this.#left <= 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
