// Removes directory trees that a container could write, by handles: a directory swapped for a link meanwhile costs the link, never what
// it points to. Nothing is removed through a mount.

import { rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type Call, uninterrupted } from "../../base/call.ts";
import { Fault, isFault } from "../../base/fault.ts";
import { Folder, isMissing } from "./folder.ts";
import { walkTree } from "./walk-tree.ts";

/** Somebody who goes on writing must not keep this going for ever. */
const mostRounds = 8;

/** The path's parent directories must be the agent's own. Nothing there is fine. Fault `conflict` where something is mounted below. */
export async function removeTree(path: string, call: Call = uninterrupted): Promise<void> {
  let parent: Folder;
  try {
    parent = Folder.open(dirname(path), { followsLink: true });
  } catch (error) {
    if (isFault(error, "not-found")) return;
    throw error;
  }
  try {
    await removeEntry(parent, basename(path), call);
  } finally {
    parent.close();
  }
}

/** An entry of a directory that is held open, with all that lies below it. */
export async function removeEntry(parent: Folder, name: string, call: Call = uninterrupted): Promise<void> {
  for (let round = 1; ; round++) {
    try {
      const folder = parent.folder(name);
      if (!folder) return await removeOne(() => unlink(parent.at(name)));
      try {
        await removeBelow(folder, call);
      } finally {
        folder.close();
      }
      return await removeOne(() => rmdir(parent.at(name)));
    } catch (error) {
      if (round >= mostRounds || !wasChanged(error)) throw error;
    }
  }
}

/** Everything in the directory, not the directory itself. */
async function removeBelow(root: Folder, call: Call): Promise<void> {
  const mounted = ({ name }: { name: string }) => {
    throw new Fault("conflict", `failed to remove "${name}": something is mounted there`, { details: { mount: name } });
  };
  await walkTree(
    root,
    {
      visit: ({ parent, name, folder }) => removeOne(() => (folder ? rmdir(parent.at(name)) : unlink(parent.at(name)))),
      mounted,
    },
    call,
  );
}

async function removeOne(remove: () => Promise<void>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Something was put there, swapped or moved meanwhile: another round may find it still. */
function wasChanged(error: unknown): boolean {
  if (error instanceof Fault)
    return error.code === "conflict" && (error.details as { mount?: string } | undefined)?.mount === undefined;
  return ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}
