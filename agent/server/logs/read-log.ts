// Reads a container's log file, and follows it: through rotation, until the container is no more.

import type { FileHandle } from "node:fs/promises";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { openLog } from "../../containers/log-files.ts";
import { tailStart } from "./log-tail.ts";
import { type LogChoice, LogText } from "./log-text.ts";

export interface LogRequest extends LogChoice {
  readonly follow: boolean;
  readonly tailLines?: number;
}

export interface LogFile {
  readonly path: string;
  /** The container may still write; asked whenever the end of the file is reached. */
  readonly isAlive: () => boolean;
}

const blockBytes = 64 * 1024;
const lookAgainMs = 100;

/** Ends when the request is satisfied. Stop the call to leave a log that is followed. */
export async function* readLog(
  { path, isAlive }: LogFile,
  request: LogRequest,
  clock: Clock,
  call: Call,
): AsyncGenerator<Buffer, void> {
  let file = await openWhenThere(path, request.follow ? isAlive : () => false, clock, call);
  if (!file) return;
  try {
    const text = new LogText(request);
    const { size } = await file.stat();
    // Who does not follow asks for what is there now: the last line stays one line while the container writes more.
    const end = request.follow ? Number.POSITIVE_INFINITY : size;
    let position = request.tailLines === undefined ? 0 : await tailStart(file, size, request.tailLines);
    const block = Buffer.allocUnsafe(blockBytes);
    // What made the end of the file a last one is looked at before the bytes, so that none written before it is missed.
    let isLast = false;
    let replaced: FileHandle | undefined;
    while (!call.signal.aborted && !text.isFull) {
      const { bytesRead } = await file.read(block, 0, Math.min(blockBytes, end - position), position);
      if (bytesRead > 0) {
        position += bytesRead;
        const shown = text.push(block.subarray(0, bytesRead));
        if (shown.length > 0) yield shown;
        continue;
      }
      if (replaced) {
        await file.close();
        file = replaced;
        replaced = undefined;
        position = 0;
        text.restart();
        continue;
      }
      if (isLast || !request.follow) return;
      replaced = await replacementOf(file, path);
      if (replaced) continue;
      if ((await file.stat()).size < position) {
        position = 0;
        text.restart();
        continue;
      }
      isLast = !isAlive();
      if (!isLast) await clock.sleep(lookAgainMs, call).catch(() => {});
    }
  } finally {
    await file.close();
  }
}

/** The file that stands under the name now, when it is another one: the old one has been rotated away and is complete. */
async function replacementOf(file: FileHandle, path: string): Promise<FileHandle | undefined> {
  try {
    const named = await openLog(path);
    const [own, other] = await Promise.all([file.stat(), named.stat()]);
    if (own.ino !== other.ino || own.dev !== other.dev) return named;
    await named.close();
    return undefined;
  } catch (error) {
    if (isFault(error, "not-found")) return undefined;
    throw error;
  }
}

async function openWhenThere(
  path: string,
  mayCome: () => boolean,
  clock: Clock,
  call: Call,
): Promise<FileHandle | undefined> {
  for (;;) {
    try {
      return await openLog(path);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      if (!mayCome() || call.signal.aborted) return undefined;
      await clock.sleep(lookAgainMs, call).catch(() => {});
    }
  }
}
