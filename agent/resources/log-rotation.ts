// Keeps container logs bounded: a log that is too long is moved aside, the runtime opens a new one, older pieces are compressed, the oldest go.

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Folder } from "../../plugins/kit/os/safe-files/folder.ts";
import { openRegularEntry } from "../../plugins/kit/os/safe-files/regular-file.ts";
import { openLogFolder } from "../containers/log-files.ts";
import type { ObservedPod } from "../model/observed.ts";

const lookMs = 10_000;
const blockBytes = 64 * 1024;
const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

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
          if (sizeOf(logPath) >= this.#options.maxBytes) await this.rotate(id, logPath, call);
        } catch (error) {
          if (isFault(error, "not-found")) continue;
          this.#options.log.warn({ path: logPath, err: error }, "cannot rotate a container's log");
        }
      }
    }
  }

  async rotate(containerId: string, logPath: string, call: Call): Promise<void> {
    const folder = openLogFolder(logPath);
    try {
      await this.#rotate(containerId, folder, basename(logPath), call);
    } finally {
      folder.close();
    }
  }

  async #rotate(containerId: string, folder: Folder, log: string, call: Call): Promise<void> {
    const { clock, runtime, maxFiles } = this.#options;
    const pieces = folder
      .names()
      .filter((name) => name.startsWith(`${log}.`) && folder.look(name)?.isFile())
      .sort();
    // The log itself counts, and so does the piece that is cut off now.
    for (const name of pieces.slice(0, Math.max(0, pieces.length - (maxFiles - 2)))) folder.removeFile(name);
    for (const name of pieces.slice(-(maxFiles - 2))) {
      if (!name.endsWith(".gz") && !name.endsWith(".tmp") && maxFiles > 2) await compress(folder, name);
    }
    const stamp = new Date(clock.now())
      .toISOString()
      .replaceAll(/[-:]|\.\d+Z$/g, "")
      .replace("T", "-");
    const rotated = `${log}.${stamp}`;
    folder.rename(log, rotated);
    try {
      await runtime.reopenContainerLog({ containerId }, within(10_000, call));
    } catch (error) {
      // The container still writes to the old file: put it back under its name.
      folder.rename(rotated, log);
      throw error;
    }
  }
}

/** Of a regular file; anything else is never rotated. */
function sizeOf(logPath: string): number {
  const folder = openLogFolder(logPath);
  try {
    const found = folder.look(basename(logPath));
    return found?.isFile() ? found.size : 0;
  } finally {
    folder.close();
  }
}

async function* blocksOf(file: FileHandle): AsyncGenerator<Buffer, void> {
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(blockBytes), 0, blockBytes, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function compress(folder: Folder, name: string): Promise<void> {
  const temporary = `${name}.tmp`;
  folder.removeFile(temporary);
  const from = await openRegularEntry(folder, name);
  try {
    const to = await open(folder.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o640);
    try {
      await pipeline(blocksOf(from), createGzip(), async (compressed: AsyncIterable<Buffer>) => {
        for await (const block of compressed) await to.writeFile(block);
      });
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
  folder.rename(temporary, `${name}.gz`);
  folder.removeFile(name);
}
