// Where the last lines of a log file begin, found from its end backwards: what stands before them is never read.

import type { FileHandle } from "node:fs/promises";
import { isPartialLine } from "./log-line.ts";

const blockBytes = 64 * 1024;
const newline = 0x0a;

/** The offset of the last `lines` lines, partial ones counted together with what continues them. */
export async function tailStart(file: FileHandle, size: number, lines: number): Promise<number> {
  if (lines <= 0) return size;
  let count = 0;
  let isLast = true;
  let carry: Buffer = Buffer.alloc(0);
  let carryAt = size;
  while (carryAt > 0) {
    const length = Math.min(blockBytes, carryAt);
    const block = Buffer.allocUnsafe(length);
    const { bytesRead } = await file.read(block, 0, length, carryAt - length);
    if (bytesRead < length) return 0;
    const start = carryAt - length;
    const data = carry.length > 0 ? Buffer.concat([block, carry]) : block;
    let end = data.length;
    // A line that is still being written ends the file without a newline; it belongs to what follows the tail's start.
    for (let at = data.lastIndexOf(newline, end - 1); at >= 0; at = at === 0 ? -1 : data.lastIndexOf(newline, at - 1)) {
      if (end > at + 1) {
        const isPartial = isPartialLine(data.subarray(at + 1, end));
        if (!isPartial || isLast) count++;
        if (count > lines) return start + end + 1;
        isLast = false;
      }
      end = at;
    }
    carry = Buffer.from(data.subarray(0, end));
    carryAt = start;
    if (start === 0 && carry.length > 0 && (!isPartialLine(carry) || isLast) && ++count > lines) return end + 1;
  }
  return 0;
}
