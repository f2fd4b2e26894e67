// Static pods from a folder: noticed at once, read again every 20 seconds in case the notice was lost. A file that cannot be read keeps the
// pods it had; the others are untouched.

import { constants, type FSWatcher, watch } from "node:fs";
import { mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { readManifest, withoutNamesakes } from "./static-pod.ts";

const rereadMs = 20_000;
// An editor writes a file in several steps; the notices of one change are taken together.
const settleMs = 20;

export interface ManifestFolderOptions {
  readonly dir: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The whole set of pods, whenever the folder was read. */
  readonly onPods: (pods: readonly AgentPod[]) => void;
  /** A file that is no good, once per kind of trouble. */
  readonly onTrouble: (message: string) => void;
}

export class ManifestFolder {
  readonly #options: ManifestFolderOptions;
  readonly #byFile = new Map<string, readonly AgentPod[]>();
  readonly #troubles = new Map<string, string>();

  constructor(options: ManifestFolderOptions) {
    this.#options = options;
  }

  async run(call: Call): Promise<void> {
    const { clock, dir, log } = this.#options;
    let watcher: FSWatcher | undefined;
    let wake = () => {};
    let hasChanged = false;
    // A folder that is not there cannot be watched: files put into it later would be noticed late.
    await mkdir(dir, { recursive: true }).catch(() => {});
    try {
      while (!call.signal.aborted) {
        if (!watcher) {
          try {
            watcher = watch(dir, () => {
              hasChanged = true;
              wake();
            });
            watcher.on("error", () => {
              watcher?.close();
              watcher = undefined;
            });
          } catch (error) {
            log.debug({ dir, err: error }, "cannot watch the manifest folder: it is read every 20 seconds");
          }
        }
        hasChanged = false;
        await this.read();
        const isNoticed = await new Promise<boolean>((resolve) => {
          const cancel = clock.after(rereadMs, () => resolve(false));
          wake = () => {
            cancel();
            resolve(true);
          };
          call.signal.addEventListener("abort", wake, { once: true });
          // While it was read, nobody waited yet.
          if (hasChanged || call.signal.aborted) wake();
        });
        call.signal.removeEventListener("abort", wake);
        if (isNoticed) await clock.sleep(settleMs, call).catch(() => {});
      }
    } finally {
      watcher?.close();
    }
  }

  /** Reads the folder once and tells what it holds. */
  async read(): Promise<void> {
    const { dir, nodeName } = this.#options;
    const files = await readdir(dir, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      // A folder that is not there holds nothing; anything else is trouble, and what is known stays.
      if (error.code === "ENOENT") return [];
      this.#trouble(dir, `Cannot read the manifest folder ${dir}: ${error.message}`);
      return undefined;
    });
    if (!files) return;
    const names = files.filter((file) => !file.isDirectory() && !file.name.startsWith(".")).map((file) => file.name);
    for (const known of this.#byFile.keys()) if (!names.includes(known)) this.#byFile.delete(known);
    for (const name of names.sort()) {
      const path = join(dir, name);
      try {
        this.#byFile.set(name, readManifest(await readText(path), path, "file", nodeName));
        this.#troubles.delete(name);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") this.#byFile.delete(name);
        else this.#trouble(name, (error as Error).message);
      }
    }
    const found = [...this.#byFile.keys()]
      .sort()
      .flatMap((name) => (this.#byFile.get(name) ?? []).map((pod) => ({ pod, where: join(dir, name) })));
    this.#options.onPods(withoutNamesakes(found, (message) => this.#trouble(message, message)));
  }

  #trouble(key: string, message: string): void {
    if (this.#troubles.get(key) === message) return;
    this.#troubles.set(key, message);
    this.#options.onTrouble(message);
  }
}

/** Of a regular file, also through a link of the administrator's: anything else could hold up every other read for ever. */
async function readText(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Fault("invalid", `Cannot read ${path}: it is not a regular file`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
