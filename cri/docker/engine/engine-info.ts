// What `/info` says of the daemon, remembered. The daemon answers it only when nothing holds its locks: while an image pull waits for a name
// server that does not answer, `/info` waits too, although containers run as ever. So nobody waits for it after the start.

import { type Call, within } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { Engine } from "./engine.ts";
import type { EngineInfo } from "./types.ts";

/** A daemon that was started anew with other settings is known after this time. */
const freshMs = 300_000;
const askMs = 60_000;

export class EngineInfoCache {
  readonly #engine: Engine;
  readonly #clock: Clock;
  #known: EngineInfo;
  #askedAt: number;

  private constructor(engine: Engine, clock: Clock, known: EngineInfo) {
    this.#engine = engine;
    this.#clock = clock;
    this.#known = known;
    this.#askedAt = clock.monotonic();
  }

  /** Waits for the first answer. */
  static async open(engine: Engine, clock: Clock, call: Call): Promise<EngineInfoCache> {
    return new EngineInfoCache(engine, clock, await engine.get<EngineInfo>("/info", {}, call));
  }

  /** The last answer, at once; an old one is asked for again meanwhile. */
  now(): EngineInfo {
    if (this.#clock.monotonic() - this.#askedAt >= freshMs) {
      this.#askedAt = this.#clock.monotonic();
      this.#engine.get<EngineInfo>("/info", {}, within(askMs)).then(
        (info) => (this.#known = info),
        () => {}, // the old answer stands; whether the daemon is well is asked elsewhere
      );
    }
    return this.#known;
  }
}
