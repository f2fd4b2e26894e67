// The open watches of a server, so that all can be ended when it closes, and counted.

export interface Watched {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly scope: "cluster" | "namespace";
}

export class Watches {
  readonly #ofByEnd = new Map<() => void, Watched>();

  /** Returns a function that takes it out again. */
  add(end: () => void, of: Watched): () => void {
    this.#ofByEnd.set(end, of);
    return () => this.#ofByEnd.delete(end);
  }

  *counts(): Generator<Watched & { count: number }> {
    const counts = new Map<string, Watched & { count: number }>();
    for (const { group, version, plural, scope } of this.#ofByEnd.values()) {
      const key = `${group}/${version}/${plural}/${scope}`;
      const known = counts.get(key) ?? { group, version, plural, scope, count: 0 };
      known.count++;
      counts.set(key, known);
    }
    yield* counts.values();
  }

  endAll(): void {
    for (const end of this.#ofByEnd.keys()) end();
  }
}
