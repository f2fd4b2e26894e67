// What a runtime pulls at this moment and how far it has come. CRI has no word for it: runtimes that know keep a board for whoever looks.

export interface PullProgress {
  /** As the pull named it. */
  readonly image: string;
  readonly bytes: number;
  /** Of the parts that are known so far: it may grow. 0 until the first is. */
  readonly totalBytes: number;
}

/** One pull that is under way. */
export interface PullMeter {
  /** There is such a part to fetch; told again it changes nothing. */
  expect(part: string, totalBytes: number): void;
  /** So much of the part is here, which may be less than before where a download begins anew. */
  reach(part: string, bytes: number): void;
  /** The whole part is here. */
  finish(part: string): void;
  /** Takes it off the board, however it ended. */
  end(): void;
}

interface Part {
  bytes: number;
  readonly totalBytes: number;
}

export class PullBoard {
  readonly #pulls = new Set<{ readonly image: string; readonly parts: Map<string, Part> }>();

  begin(image: string): PullMeter {
    const pull = { image, parts: new Map<string, Part>() };
    this.#pulls.add(pull);
    return {
      expect(part, totalBytes) {
        if (!pull.parts.has(part)) pull.parts.set(part, { bytes: 0, totalBytes });
      },
      reach(part, bytes) {
        const known = pull.parts.get(part);
        if (known) known.bytes = Math.min(bytes, known.totalBytes);
      },
      finish(part) {
        const known = pull.parts.get(part);
        if (known) known.bytes = known.totalBytes;
      },
      end: () => void this.#pulls.delete(pull),
    };
  }

  /** In the order in which they began. */
  list(): PullProgress[] {
    return [...this.#pulls].map(({ image, parts }) => {
      const all = [...parts.values()];
      const sum = (of: keyof Part) => all.reduce((total, part) => total + part[of], 0);
      return { image, bytes: sum("bytes"), totalBytes: sum("totalBytes") };
    });
  }
}
