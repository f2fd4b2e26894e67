// Keeps container logs bounded: a log that is too long is moved aside, the runtime opens a new one, older pieces are compressed, the oldest go.

import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, within } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import type { Log } from "../../plugins/kit/log.ts";
import type { ObservedPod } from "../pleg/observed.ts";

const lookMs = 10_000;

export interface LogRotationOptions {
  readonly runtime: Pick<Runtime["runtime"], "reopenContainerLog">;
  readonly observed: () => readonly ObservedPod[];
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class LogRotation {
  readonly #options: LogRotationOptions;

  constructor(options: LogRotationOptions) {
    this.#options = options;
  }

  async run(call: Call): Promise<void> {
    while (!call.signal.aborted) {
      await this.#options.clock.sleep(lookMs, call).catch(() => {});
      if (!call.signal.aborted) await this.rotateAll(call);
    }
  }

  async rotateAll(call: Call): Promise<void> {
    for (const pod of this.#options.observed()) {
      for (const { id, logPath, state } of pod.containers) {
        if (state !== "running" || !logPath) continue;
        try {
          const { size } = await stat(logPath);
          if (size >= this.#options.maxBytes) await this.rotate(id, logPath, call);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
          this.#options.log.warn({ path: logPath, err: error }, "cannot rotate a container's log");
        }
      }
    }
  }

  async rotate(containerId: string, logPath: string, call: Call): Promise<void> {
    const { clock, runtime, maxFiles } = this.#options;
    const dir = dirname(logPath);
    const pieces = (await readdir(dir)).filter((name) => name.startsWith(`${basename(logPath)}.`)).sort();
    // The log itself counts, and so does the piece that is cut off now.
    for (const name of pieces.slice(0, Math.max(0, pieces.length - (maxFiles - 2))))
      await rm(join(dir, name), { force: true });
    for (const name of pieces.slice(-(maxFiles - 2))) {
      if (!name.endsWith(".gz") && !name.endsWith(".tmp") && maxFiles > 2) await compress(join(dir, name));
    }
    const stamp = new Date(clock.now())
      .toISOString()
      .replaceAll(/[-:]|\.\d+Z$/g, "")
      .replace("T", "-");
    const rotated = `${logPath}.${stamp}`;
    await rename(logPath, rotated);
    try {
      await runtime.reopenContainerLog({ containerId }, within(10_000, call));
    } catch (error) {
      // The container still writes to the old file: put it back under its name.
      await rename(rotated, logPath);
      throw error;
    }
  }
}

async function compress(path: string): Promise<void> {
  const temporary = `${path}.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary));
  await rename(temporary, `${path}.gz`);
  await rm(path, { force: true });
}
