// The open watches of a server, so that all can be ended when it closes.

export class Watches {
  readonly #ends = new Set<() => void>();

  get size(): number {
    return this.#ends.size;
  }

  /** Returns a function that takes it out again. */
  add(end: () => void): () => void {
    this.#ends.add(end);
    return () => this.#ends.delete(end);
  }

  endAll(): void {
    for (const end of this.#ends) end();
  }
}
