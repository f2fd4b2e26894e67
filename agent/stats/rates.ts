// CPU rates between two samples of the same thing.

interface Last {
  at: number;
  usageNs: bigint;
  rate: number | undefined;
  round: number;
}

// Samples closer together measure noise: the last rate stands.
const leastMs = 900;

export class Rates {
  readonly #last = new Map<string, Last>();
  #round = 0;

  /** Billionths of a CPU since the sample before; undefined with the first, or when the counter began anew. */
  rate(key: string, at: number, usageNs: bigint): number | undefined {
    const last = this.#last.get(key);
    if (last && at - last.at < leastMs && at >= last.at) {
      last.round = this.#round;
      return last.rate;
    }
    const isOn = last !== undefined && at > last.at && usageNs >= last.usageNs;
    const rate = isOn ? Math.round((Number(usageNs - last.usageNs) * 1000) / (at - last.at)) : undefined;
    this.#last.set(key, { at, usageNs, rate, round: this.#round });
    return rate;
  }

  /** Forgets what was not seen since it was called last. */
  endRound(): void {
    for (const [key, { round }] of this.#last) if (round !== this.#round) this.#last.delete(key);
    this.#round++;
  }
}
