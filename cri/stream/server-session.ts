// An exec or attach that a client holds with us, whatever it speaks: the shape that the transports fill.

import type { Call } from "../../plugins/kit/base/call.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { SessionStreams } from "../api/sessions.ts";
import { IdleTimer } from "./idle-timer.ts";
import type { Outcome } from "./outcome.ts";

/** Which streams the client asked for. With a terminal there is no stderr, whatever it asked. */
export interface Wanted {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface AcceptOptions {
  readonly clock?: Clock;
  /** Ends a session in which nothing moved for so long; 4 hours unless told, 0 for never. */
  readonly idleTimeoutMs?: number;
  /** How long a client may take to open its streams; 30 seconds unless told. */
  readonly openTimeoutMs?: number;
}

export interface ServerSession {
  readonly streams: SessionStreams;
  /** Stops when the client vanishes or was idle for too long. */
  readonly call: Call;
  /** Lets the output drain, tells how it ended, and closes. May be called twice; only the first counts. */
  finish(outcome: Outcome): Promise<void>;
}

export interface Timing {
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
  readonly openTimeoutMs: number;
}

export function timingOf({ clock, idleTimeoutMs, openTimeoutMs }: AcceptOptions): Timing {
  return {
    clock: clock ?? systemClock,
    idleTimeoutMs: idleTimeoutMs ?? 4 * 60 * 60 * 1000,
    openTimeoutMs: openTimeoutMs ?? 30_000,
  };
}

/** What a peer gets to answer our goodbye before the connection is cut. */
export const lingerMs = 10_000;

/** Ends a call when the client is gone or idle. */
export class Presence {
  readonly #stop = new AbortController();
  readonly #idle: IdleTimer;
  readonly call: Call = { signal: this.#stop.signal };

  constructor({ clock, idleTimeoutMs }: Timing) {
    this.#idle = new IdleTimer(clock, idleTimeoutMs, () =>
      this.#end(new Fault("timeout", `nothing moved for ${idleTimeoutMs} ms`)),
    );
  }

  touch(): void {
    this.#idle.touch();
  }

  gone(): void {
    this.#end(new Fault("unavailable", "the client went away"));
  }

  /** The session ended well: nothing is to be noticed any more. */
  rest(): void {
    this.#idle.stop();
  }

  #end(fault: Fault): void {
    this.#idle.stop();
    this.#stop.abort(fault);
  }
}

/** Reads `stdin=true` as the API server spells it and `input=1` as the kubelet does. */
export function wantedByQuery(query: URLSearchParams): Wanted {
  const has = (...names: string[]) => names.some((name) => ["1", "true"].includes(query.get(name) ?? ""));
  const tty = has("tty");
  return { stdin: has("stdin", "input"), stdout: has("stdout", "output"), stderr: !tty && has("stderr", "error"), tty };
}
