// Compacts etcd by age: what was newest one period ago is where history begins now. Several control planes may do so
// at once; the later one finds the work done.

import type { Clock } from "../../kit/base/clock.ts";
import type { Log } from "../../kit/base/log.ts";

export interface CompactorParts {
  readonly clock: Clock;
  readonly log: Log;
  /** 0 never compacts. */
  readonly everyMs: number;
  readonly revision: () => number;
  readonly compact: (revision: number) => Promise<void>;
}

export class Compactor {
  readonly #parts: CompactorParts;
  #before = 0;
  #cancel: (() => void) | undefined;

  constructor(parts: CompactorParts) {
    this.#parts = parts;
    if (parts.everyMs > 0) this.#arm();
  }

  stop(): void {
    this.#cancel?.();
  }

  #arm(): void {
    this.#cancel = this.#parts.clock.after(this.#parts.everyMs, () => {
      const due = this.#before;
      this.#before = this.#parts.revision();
      this.#arm();
      if (due <= 1 || due === this.#before) return;
      this.#parts.compact(due).catch((error: unknown) => {
        this.#parts.log.warn({ err: error, revision: due }, "etcd was not compacted; the next period tries again");
      });
    });
  }
}
