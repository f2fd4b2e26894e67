// Back-off per key as upstream counts it: the first failure waits the initial delay, each next one doubles it up to the cap, and a key
// that stayed well for twice the cap starts over. Used for crash loops and for image pulls.

interface Entry {
  delayMs: number;
  /** When the delay was last raised. */
  updatedAt: number;
}

export class BackOff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(initialMs: number = 10_000, maxMs: number = 300_000) {
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
  }

  /** Milliseconds still to wait for something that ended at `eventAt`; 0 when it may go on. */
  remaining(key: string, eventAt: number, now: number): number {
    const entry = this.#entries.get(key);
    if (!entry || this.#isExpired(entry, eventAt)) return 0;
    // A clock that was set back must not make it longer.
    return Math.min(entry.delayMs, Math.max(0, eventAt + entry.delayMs - now));
  }

  /** The delay that applies now; 0 when the key is unknown. */
  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Counts one more attempt after something that ended at `eventAt`. */
  next(key: string, eventAt: number, now: number): void {
    const entry = this.#entries.get(key);
    const delayMs =
      !entry || this.#isExpired(entry, eventAt) ? this.#initialMs : Math.min(entry.delayMs * 2, this.#maxMs);
    this.#entries.set(key, { delayMs, updatedAt: now });
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets keys that start with the prefix: those of a pod that is gone. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #isExpired(entry: Entry, eventAt: number): boolean {
    return eventAt - entry.updatedAt > this.#maxMs * 2;
  }
}

/** Go's duration form, as upstream's messages print it: `10s`, `2m40s`, `5m0s`. */
export function formatDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${Number(seconds.toFixed(3))}s`;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = `${minutes}m${Number((seconds % 60).toFixed(3))}s`;
  return hours > 0 ? `${hours}h${rest}` : rest;
}
