// How much a directory tree takes on disk, counted as du counts it; a file that vanishes meanwhile counts as nothing.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

const blockBytes = 512;

export async function diskUsage(path: string): Promise<number> {
  try {
    const found = await lstat(path);
    let total = found.blocks * blockBytes;
    if (found.isDirectory()) for (const name of await readdir(path)) total += await diskUsage(join(path, name));
    return total;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
