// Imports image archives that lie in a folder, at the start and as they appear: how a box without a registry gets its images.
// What was imported is remembered by name, size and time, so that a restart does not import it again.

import { existsSync, type FSWatcher, mkdirSync, readdirSync, readFileSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { writeFileAtomic } from "../../plugins/kit/os/platform/files.ts";

export interface ImageFolderOptions {
  readonly folder: string;
  /** Where it is remembered what was imported. */
  readonly stateFile: string;
  /** Imports one archive and tells the images' names. */
  readonly importArchive: (path: string, call: Call) => Promise<string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

const archive = /\.(tar|tar\.gz|tgz|tar\.zst)$/;
const rereadMs = 60_000;
/** A file that is still being copied changes: it is imported once it has been still for this long. */
const stillMs = 500;

export class ImageFolder {
  readonly #options: ImageFolderOptions;
  readonly #done: Map<string, string>;
  readonly #failed = new Map<string, string>();
  /** Something was not whole yet at the last look. */
  #isGrowing = false;

  constructor(options: ImageFolderOptions) {
    this.#options = options;
    this.#done = new Map(Object.entries(readState(options.stateFile)));
  }

  /** Resolves once everything that lay there at the start was tried; then goes on in `run`. */
  async importAll(call: Call): Promise<void> {
    const { folder } = this.#options;
    this.#isGrowing = false;
    for (const name of readdirSync(folder)
      .filter((file) => archive.test(file))
      .sort())
      await this.#import(name, call);
  }

  async run(call: Call): Promise<void> {
    const { folder, clock, log } = this.#options;
    const changes = new FolderChanges(folder, clock);
    try {
      while (!call.signal.aborted) {
        if (changes.isWatching && !existsSync(folder)) {
          // Taken away, and the watch with it. Deno lets go of a watch later than told: one begun at once would end with it.
          changes.close();
          await clock.sleep(stillMs, call).catch(() => {});
        }
        try {
          mkdirSync(folder, { recursive: true, mode: 0o750 });
          // Watched before it is read: what appears in between is not missed.
          changes.begin();
          await this.importAll(call);
        } catch (error) {
          if (!call.signal.aborted) log.error({ err: error, folder }, "cannot look for image archives; trying again");
        }
        await changes.next(this.#isGrowing || !existsSync(folder) ? stillMs : rereadMs, call);
      }
    } finally {
      changes.close();
    }
  }

  async #import(name: string, call: Call): Promise<void> {
    const { folder, stateFile, importArchive, clock, log } = this.#options;
    const path = join(folder, name);
    const mark = markOf(path);
    if (mark === undefined || this.#done.get(name) === mark || this.#failed.get(name) === mark) return;
    try {
      const images = await importArchive(path, call);
      this.#done.set(name, mark);
      await writeFileAtomic(stateFile, JSON.stringify(Object.fromEntries(this.#done)));
      log.info({ file: path, images }, "imported images");
    } catch (error) {
      if (call.signal.aborted) return;
      const found = statSync(path, { throwIfNoEntry: false });
      if (!found) return; // taken away meanwhile: nobody wants it any more
      const ageMs = clock.now() - found.mtimeMs;
      // A file from the future tells of a wrong clock, not of somebody who writes it.
      const isGrowing = markOf(path) !== mark || (ageMs >= 0 && ageMs < stillMs);
      if (isGrowing) {
        this.#isGrowing = true;
        return;
      }
      this.#failed.set(name, mark);
      log.error({ err: error, file: path }, "cannot import an image archive; replace the file to try again");
    }
  }
}

function markOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? `${found.size}-${Math.floor(found.mtimeMs)}` : undefined;
}

function readState(path: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
  } catch {
    return {}; // nothing remembered: importing again does no harm
  }
}

/** Tells that something in the folder changed and has been still for a moment. Loses no change between two waits. */
class FolderChanges {
  readonly #folder: string;
  readonly #clock: Clock;
  #watcher: FSWatcher | undefined;
  #hasChanged = false;
  #onChange = () => {};

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Changes from here on count for the next wait. */
  begin(): void {
    this.#hasChanged = false;
    if (this.#watcher) return;
    try {
      this.#watcher = watch(this.#folder, () => {
        this.#hasChanged = true;
        this.#onChange();
      });
      this.#watcher.on("error", () => {}); // the slow re-read still finds new files
    } catch {
      // Out of inotify watches: the slow re-read still finds new files.
    }
  }

  /** Resolves after a change, after a while in any case, or when stopped. */
  next(patienceMs: number, call: Call): Promise<void> {
    return new Promise((resolve) => {
      let settle = () => {};
      const finish = () => {
        settle();
        cancel();
        this.#onChange = () => {};
        call.signal.removeEventListener("abort", finish);
        resolve();
      };
      const cancel = this.#clock.after(patienceMs, finish);
      this.#onChange = () => {
        settle();
        settle = this.#clock.after(stillMs, finish);
      };
      call.signal.addEventListener("abort", finish, { once: true });
      if (call.signal.aborted) finish();
      else if (this.#hasChanged) this.#onChange();
    });
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
