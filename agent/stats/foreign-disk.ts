// How full volumes are that are file systems of their own: a server's share, a disk. Their files are not counted one by one. A server that
// is gone holds whoever asks it, for hours if need be: so few are asked at a time, nobody waits long, and the last answer stands meanwhile.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { askFileSystem, type FileSystemUse } from "../../plugins/kit/os/platform/file-system-use.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";

const keepMs = 60_000;
const patienceMs = 2_000;
const giveUpMs = 60_000;
/** Each is a process that waits. */
const mostAtOnce = 2;

type Ask = (path: string) => Promise<FileSystemUse | undefined>;
const askOther: Ask = (path) => askFileSystem(path, giveUpMs, uninterrupted).catch(() => undefined);

export class ForeignDisk {
  readonly #clock: Clock;
  readonly #ask: Ask;
  readonly #known = new Map<string, { use: FileSystemUse | undefined; until: number }>();
  readonly #asking = new Set<string>();

  constructor(clock: Clock, ask: Ask = askOther) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Undefined while nobody can say. */
  async of(path: string): Promise<FileSystemUse | undefined> {
    const known = this.#known.get(path);
    if (known && known.until > this.#clock.monotonic()) return known.use;
    if (this.#asking.has(path) || this.#asking.size >= mostAtOnce) return known?.use;
    this.#asking.add(path);
    const answer = this.#ask(path).then((use) => {
      this.#asking.delete(path);
      this.#known.set(path, { use, until: this.#clock.monotonic() + keepMs });
      return use;
    });
    const patience = new AbortController();
    const tired = this.#clock.sleep(patienceMs, patience).then(
      () => known?.use,
      () => known?.use,
    );
    const use = await Promise.race([answer, tired]);
    patience.abort();
    return use;
  }

  /** Forgets all but these. */
  retain(paths: ReadonlySet<string>): void {
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#known.delete(path);
  }
}
