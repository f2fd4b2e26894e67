// Decides which decoded objects of one resource stay in memory: those that somebody reads. A decoded object takes several times the
// memory of its bytes, and most are never looked at again by anyone in this process.
//
// Invariant: what is kept is at most `#room`, and whatever was read between two looks at it. The room grows by one whenever an object is
// read that was let go of, and shrinks while new ones come: it follows what is being read.

/** One that may hold its decoded form. */
export interface Keeping {
  /** Whether the decoded form was read since the last call. */
  wasRead(): boolean;
  letGo(): void;
}

const leastRoom = 32;
/** So few that no write waits for many, and more than one so that the number kept can shrink. */
const looksAtOnce = 2;
const shrinkAtOnce = 0.5;

export class ObjectKeeper {
  /** Oldest first. */
  readonly #kept = new Set<Keeping>();
  #room = leastRoom;

  /** Its decoded form is new, and so is the object. */
  keep(one: Keeping): void {
    this.#room = Math.max(leastRoom, this.#room - shrinkAtOnce);
    this.#take(one);
  }

  /** It was decoded because somebody wanted it; `again` after it was let go of. */
  keepRead(one: Keeping, again: boolean): void {
    if (again) this.#room++;
    this.#take(one);
  }

  forget(one: Keeping): void {
    this.#kept.delete(one);
  }

  #take(one: Keeping): void {
    this.#kept.add(one);
    if (this.#kept.size <= this.#room) return;
    let looks = 0;
    for (const oldest of this.#kept) {
      this.#kept.delete(oldest);
      if (oldest.wasRead()) this.#kept.add(oldest);
      else oldest.letGo();
      if (++looks === looksAtOnce || this.#kept.size <= this.#room) return;
    }
  }
}
