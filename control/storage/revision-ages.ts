// RevisionAges knows which revision was the newest some time ago, so that age needs no time stamp per event.

import type { Clock } from "../../plugins/kit/base/clock.ts";

const marksPerAge = 10;

export class RevisionAges {
  readonly #clock: Clock;
  readonly #ageMs: number;
  readonly #marks: { at: number; revision: number }[] = [];

  constructor(clock: Clock, ageMs: number) {
    this.#clock = clock;
    this.#ageMs = ageMs;
  }

  /** Takes the newest revision; returns the one that has reached the age since the last call, if one has. */
  mark(revision: number): number | undefined {
    const now = this.#clock.monotonic();
    const last = this.#marks.at(-1);
    if (last && now - last.at < this.#ageMs / marksPerAge) return undefined;
    this.#marks.push({ at: now, revision });
    let old: number | undefined;
    while (this.#marks[0] && now - this.#marks[0].at >= this.#ageMs) old = this.#marks.shift()?.revision;
    return old;
  }
}
