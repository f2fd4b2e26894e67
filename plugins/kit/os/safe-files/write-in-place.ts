// Gives a file new content without replacing it: containers have the file itself mounted, and one of them may shape it meanwhile.

import { constants } from "node:fs";
import { basename, dirname } from "node:path";
import { Fault } from "../../base/fault.ts";
import { type Folder, withFolder } from "./folder.ts";
import { openRegularEntry } from "./regular-file.ts";

const { O_WRONLY } = constants;

/**
 * The path's parent directories must be the agent's own. The file is made with the mode where it is missing. Fault `forbidden` when
 * something else than a regular file is there, a link included; nothing is waited for.
 */
export async function writeInPlace(path: string, data: Uint8Array, mode: number): Promise<void> {
  await withFolder(dirname(path), async (folder) => {
    const name = basename(path);
    if (!folder.look(name)) return make(folder, name, data, mode);
    const file = await openRegularEntry(folder, name, O_WRONLY);
    try {
      await file.truncate(0);
      await file.writeFile(data);
    } finally {
      await file.close();
    }
  });
}

function make(folder: Folder, name: string, data: Uint8Array, mode: number): void {
  try {
    folder.makeFile(name, data, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Fault("conflict", `failed to make "${name}": it was made by somebody else meanwhile`, { cause: error });
  }
}
