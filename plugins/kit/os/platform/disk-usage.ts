// How much a folder holds: walked at most once a minute, because a card is slow.

import type { Call } from "../../base/call.ts";
import type { Clock } from "../../base/clock.ts";
import { type FolderUsage, folderUsage } from "../safe-files/folder-usage.ts";

const freshMs = 60_000;

export class DiskUsage {
  readonly #clock: Clock;
  readonly #known = new Map<string, { at: number; usage: Promise<FolderUsage> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Zero when it is gone. */
  of(folder: string, call: Call): Promise<FolderUsage> {
    const now = this.#clock.monotonic();
    const known = this.#known.get(folder);
    if (known && now - known.at < freshMs) return known.usage;
    for (const [path, { at }] of this.#known) if (now - at > 10 * freshMs) this.#known.delete(path);
    const usage = folderUsage(folder, call);
    this.#known.set(folder, { at: now, usage });
    // A walk that was stopped must not stand for a minute.
    usage.catch(() => this.#known.delete(folder));
    return usage;
  }
}
