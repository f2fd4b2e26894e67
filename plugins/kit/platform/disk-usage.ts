// How much a folder holds: walked at most once a minute, because a card is slow.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "../call.ts";
import type { Clock } from "../clock.ts";

interface Usage {
  readonly bytes: number;
  readonly inodes: number;
}

const freshMs = 60_000;

export class DiskUsage {
  readonly #clock: Clock;
  readonly #known = new Map<string, { at: number; usage: Promise<Usage> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Zero when it is gone. A hard link counts once. */
  of(folder: string, call: Call): Promise<Usage> {
    const now = this.#clock.monotonic();
    const known = this.#known.get(folder);
    if (known && now - known.at < freshMs) return known.usage;
    for (const [path, { at }] of this.#known) if (now - at > 10 * freshMs) this.#known.delete(path);
    const usage = walk(folder, call);
    this.#known.set(folder, { at: now, usage });
    // A walk that was stopped must not stand for a minute.
    usage.catch(() => this.#known.delete(folder));
    return usage;
  }
}

async function walk(root: string, call: Call): Promise<Usage> {
  let bytes = 0;
  let inodes = 0;
  const seen = new Set<number>();
  const queue = [root];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    call.signal.throwIfAborted();
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    inodes++;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        queue.push(path);
        continue;
      }
      const found = await lstat(path).catch(() => undefined);
      if (!found || seen.has(found.ino)) continue;
      if (found.nlink > 1) seen.add(found.ino);
      bytes += found.blocks * 512;
      inodes++;
    }
  }
  return { bytes, inodes };
}
