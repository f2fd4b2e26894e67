// How far slow pulls have come, for the log and for events: what was said by nobody would look like a node that hangs.

import type { PullProgress } from "../../cri/api/pull-board.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { parseImage } from "../model/image-reference.ts";

/** When something is told that goes on: after a first while, then ever more seldom. */
export interface Beat {
  readonly firstMs: number;
  readonly mostMs: number;
}

export async function tellWhile<T>(work: Promise<T>, beat: Beat, clock: Clock, tell: () => void): Promise<T> {
  let cancel = () => {};
  const wait = (delayMs: number) => {
    cancel = clock.after(delayMs, () => {
      tell();
      wait(Math.min(delayMs * 2, beat.mostMs));
    });
  };
  wait(beat.firstMs);
  try {
    return await work;
  } finally {
    cancel();
  }
}

/** The pull of an image, whichever way it is written; undefined where none is known. */
export function pullOf(pulls: readonly PullProgress[], image: string): PullProgress | undefined {
  if (pulls.length === 0) return undefined;
  try {
    const { name } = parseImage(image);
    return pulls.find((pull) => pull.image === name);
  } catch {
    // A name that cannot be pulled: the container's own status says so.
    return undefined;
  }
}

const mebibyte = 1024 * 1024;

/** `12.0 of 45.3 MiB`; empty while nothing is known. */
export function progressWords({ bytes, totalBytes }: PullProgress): string {
  if (totalBytes === 0) return "";
  const total = `${(totalBytes / mebibyte).toFixed(1)} MiB`;
  return bytes < totalBytes ? `${(bytes / mebibyte).toFixed(1)} of ${total}` : `unpacking ${total}`;
}
