// Single-use tokens for streaming URLs: whoever was given one over the CRI socket may open that one session, soon.

import { randomBytes } from "node:crypto";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";

const lifetimeMs = 60_000;
// As many as a client can be waiting for at once; beyond that it asks without ever coming.
const mostTokens = 1000;

export class Tokens<T> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { value: T; expiresAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A Fault `too-many` when a thousand are still waiting to be used. */
  add(value: T): string {
    this.#forgetExpired();
    if (this.#entries.size >= mostTokens) {
      throw new Fault("too-many", `Cannot open another session: ${mostTokens} were asked for and not begun`);
    }
    const token = randomBytes(16).toString("base64url");
    this.#entries.set(token, { value, expiresAt: this.#clock.monotonic() + lifetimeMs });
    return token;
  }

  /** Once: a second time, or too late, there is nothing. */
  take(token: string): T | undefined {
    this.#forgetExpired();
    const entry = this.#entries.get(token);
    this.#entries.delete(token);
    return entry?.value;
  }

  #forgetExpired(): void {
    const now = this.#clock.monotonic();
    // They stand in the order of their end.
    for (const [token, { expiresAt }] of this.#entries) {
      if (expiresAt > now) return;
      this.#entries.delete(token);
    }
  }
}
