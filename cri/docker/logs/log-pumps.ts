// The log pumps of all running containers, by container id.

import { join } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
import type { Engine } from "../engine/engine.ts";
import { forgetLogState } from "./log-file.ts";
import { LogPump } from "./log-pump.ts";

/** How long the last lines are waited for: a daemon that hangs must not hang everyone. */
const drainMs = 5000;

export class LogPumps {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stateDir: string;
  readonly #pumps = new Map<string, LogPump>();

  constructor(engine: Engine, stateDir: string, clock: Clock, log: Log) {
    this.#engine = engine;
    this.#stateDir = stateDir;
    this.#clock = clock;
    this.#log = log;
  }

  /** Goes on where the last one of this container ended, if there was one. Does nothing where there is no path. */
  start(containerId: string, path: string, isTerminal: boolean): void {
    if (path === "" || this.#pumps.has(containerId)) return;
    const pump = new LogPump({
      engine: this.#engine,
      clock: this.#clock,
      log: this.#log,
      containerId,
      isTerminal,
      path,
      statePath: this.#statePath(containerId),
    });
    this.#pumps.set(containerId, pump);
    void pump.done.then(() => {
      if (this.#pumps.get(containerId) === pump) this.#pumps.delete(containerId);
    });
  }

  reopen(containerId: string): void {
    const pump = this.#pumps.get(containerId);
    if (!pump) throw new Fault("conflict", `Cannot reopen the log of container "${containerId}": it has none`);
    pump.reopen();
  }

  /** Resolves when everything that an ended container wrote is in its file, or after a while. */
  async drained(containerId: string, call: Call): Promise<void> {
    const pump = this.#pumps.get(containerId);
    if (!pump) return;
    const patience = new AbortController();
    try {
      const wait = this.#clock.sleep(drainMs, { signal: AbortSignal.any([patience.signal, call.signal]) });
      await Promise.race([pump.done, wait.catch(() => {})]);
    } finally {
      patience.abort();
    }
  }

  /** For a container that is removed. */
  async forget(containerId: string): Promise<void> {
    await this.#pumps.get(containerId)?.stop();
    forgetLogState(this.#statePath(containerId));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pumps.values()].map((pump) => pump.stop()));
  }

  #statePath(containerId: string): string {
    return join(this.#stateDir, `${containerId}.json`);
  }
}
