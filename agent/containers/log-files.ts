// The files of one container's log.

import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Rotated pieces carry the log's name as their beginning. Nothing there is fine. */
export async function removeLogs(logPath: string): Promise<void> {
  if (logPath === "") return;
  const dir = dirname(logPath);
  for (const file of await readdir(dir).catch(() => [])) {
    if (file.startsWith(basename(logPath))) await rm(join(dir, file), { force: true });
  }
}
