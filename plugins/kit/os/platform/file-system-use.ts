// How full a file system is that somebody else serves. A server that stays silent holds whoever asks, for hours if need be, and this
// process reads all its files with a handful of threads: so another process asks, and is killed when it waits too long.

import type { Call } from "../../base/call.ts";
import { Fault } from "../../base/fault.ts";
import { run } from "./process.ts";

export interface FileSystemUse {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/** Fault `timeout` when there is no answer in time, `unavailable` when the answer is an error. */
export async function askFileSystem(path: string, timeoutMs: number, call: Call): Promise<FileSystemUse> {
  const format = "%S %b %f %a %c %d";
  const { code, stdout, stderr } = await run("stat", ["-f", "-c", format, "--", path], { timeoutMs }, call);
  const numbers = stdout.trim().split(" ").map(Number);
  if (code !== 0 || numbers.length !== 6 || numbers.some(Number.isNaN))
    throw new Fault("unavailable", `failed to read the file system at ${path}: ${stderr.trim()}`);
  const [blockBytes = 0, blocks = 0, free = 0, available = 0, inodes = 0, inodesFree = 0] = numbers;
  return {
    capacityBytes: blockBytes * blocks,
    availableBytes: blockBytes * available,
    usedBytes: blockBytes * (blocks - free),
    inodes,
    inodesFree,
    inodesUsed: inodes - inodesFree,
  };
}
