// Ends the pods when the machine is about to go down, while logind waits for it. Invariants: at most one lock is held; words of logind are
// acted on one after the other; where logind is not there or is lost, it is looked for again, and the end of the agent itself remains the
// way to notice (shutdown.ts).

import type { Call } from "../../plugins/kit/base/call.ts";
import { within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { HeldFile } from "../../plugins/kit/os/dbus/descriptor-call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Logind } from "../host/logind.ts";

const shortestPauseMs = 1_000;
const longestPauseMs = 60_000;

export interface ShutdownWatchOptions {
  readonly open: (call: Call) => Promise<Logind>;
  /** Has logind wait long enough. */
  readonly raise: (logind: Logind, call: Call) => Promise<void>;
  /** What all groups of pods may take together, with what is done around it. */
  readonly graceMs: number;
  /** Ends every pod. */
  readonly shutDown: (call: Call) => Promise<void>;
  /** Pods may come again. */
  readonly calledOff: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

export class ShutdownWatch {
  readonly #options: ShutdownWatchOptions;
  #lock: HeldFile | undefined;
  /** What is told of once, not at every try. */
  #told = "";

  constructor(options: ShutdownWatchOptions) {
    this.#options = options;
  }

  /** Until the call ends. Never rejects. */
  async run(call: Call): Promise<void> {
    const { clock, log } = this.#options;
    let pauseMs = shortestPauseMs;
    while (!call.signal.aborted) {
      try {
        await this.#watch(call);
        pauseMs = shortestPauseMs;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (!call.signal.aborted && message !== this.#told) {
          const level = isFault(error, "unavailable") ? "info" : "warn";
          log[level](
            { err: error },
            "logind does not tell of the machine's end: pods are ended when the agent is stopped",
          );
          this.#told = message;
        }
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
      await clock.sleep(pauseMs, call).catch(() => {});
    }
    this.#hold(undefined);
  }

  /** Until the connection ends. */
  async #watch(call: Call): Promise<void> {
    const { open, raise, log } = this.#options;
    const logind = await open(call);
    const end = () => logind.close();
    call.signal.addEventListener("abort", end, { once: true });
    try {
      await raise(logind, call).catch((error: unknown) => {
        // A shorter time is better than none.
        log.warn({ err: error }, "pods have less time than configured when the machine goes down");
      });
      let words = Promise.resolve();
      const heard = (isGoingDown: boolean) => {
        words = words.then(() => (isGoingDown ? this.#goDown(call) : this.#stayUp(logind, call)));
      };
      await logind.onPrepareForShutdown(heard, call);
      this.#hold(await logind.delayShutdown(call));
      this.#told = "";
      await logind.closed;
      await words;
    } finally {
      call.signal.removeEventListener("abort", end);
      logind.close();
    }
  }

  async #goDown(call: Call): Promise<void> {
    const { shutDown, graceMs, log } = this.#options;
    log.info({}, "the machine is going down: pods are ended");
    try {
      await shutDown(within(graceMs, call));
    } catch (error) {
      if (!call.signal.aborted) log.warn({ err: error }, "not every pod ended before the machine goes down");
    } finally {
      this.#hold(undefined);
    }
  }

  async #stayUp(logind: Logind, call: Call): Promise<void> {
    const { calledOff, log } = this.#options;
    log.info({}, "the machine stays up after all");
    calledOff();
    try {
      this.#hold(await logind.delayShutdown(call));
    } catch (error) {
      log.warn({ err: error }, "the machine will not wait for pods when it goes down");
    }
  }

  #hold(lock: HeldFile | undefined): void {
    this.#lock?.close();
    this.#lock = lock;
  }
}
