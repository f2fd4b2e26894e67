// A map of bounded age and size: entries are dropped when they were not set for a while, and the oldest when there are too many.

export interface RememberedLimits {
  readonly keepMs: number;
  readonly most: number;
}

export class Remembered<V> {
  readonly #limits: RememberedLimits;
  /** Least recently set first. */
  readonly #entries = new Map<string, { readonly value: V; readonly at: number }>();

  constructor(limits: RememberedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** `at` is the present time, by the clock of the other entries. */
  set(key: string, value: V, at: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, at });
    for (const [oldest, { at: setAt }] of this.#entries) {
      if (at - setAt < this.#limits.keepMs && this.#entries.size <= this.#limits.most) return;
      this.#entries.delete(oldest);
    }
  }
}
