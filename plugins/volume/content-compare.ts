// Whether a directory holds exactly this content, without trusting what is in it: files of another kind are a difference, and no more is
// read than there should be.

import type { Folder } from "../kit/os/safe-files/folder.ts";
import { openRegularEntry, readPart } from "../kit/os/safe-files/regular-file.ts";
import type { Content } from "./atomic-content.ts";

export async function holdsContent(folder: Folder, content: Content): Promise<boolean> {
  return (await countSame(folder, "", content)) === content.size;
}

/** How many files below are as they should be; -1 when one is not. */
async function countSame(folder: Folder, below: string, content: Content): Promise<number> {
  let count = 0;
  for (const name of folder.names()) {
    const path = `${below}${name}`;
    const child = folder.folder(name);
    if (child) {
      // Only directories of the content are entered: others may be deeper than there are handles.
      const isOurs = [...content.keys()].some((wanted) => wanted.startsWith(`${path}/`));
      const inside = await (isOurs ? countSame(child, `${path}/`, content) : Promise.resolve(-1)).finally(() =>
        child.close(),
      );
      if (inside < 0) return -1;
      count += inside;
      continue;
    }
    const wanted = content.get(path);
    if (!wanted || !(await isSame(folder, name, wanted.data))) return -1;
    count++;
  }
  return count;
}

async function isSame(folder: Folder, name: string, data: Uint8Array): Promise<boolean> {
  if (!folder.look(name)?.isFile()) return false;
  const file = await openRegularEntry(folder, name);
  try {
    return Buffer.compare(await readPart(file, data.length + 1, "head"), data) === 0;
  } finally {
    await file.close();
  }
}
