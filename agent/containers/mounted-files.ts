// The files of the agent's own that containers have mounted: /etc/hosts and the termination message. They lie in the pod's directory, which
// no container sees; the files themselves a container may shape.

import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withFolder } from "../../plugins/kit/os/safe-files/folder.ts";
import { writeInPlace } from "../../plugins/kit/os/safe-files/write-in-place.ts";

/** Written in place, because running containers have the file mounted. */
export async function writeHostsFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeInPlace(path, Buffer.from(text), 0o644);
}

/** A new file, and its path: every generation of a container gets one of its own, since the one before may still be read. */
export async function makeMessageFile(dir: string): Promise<string> {
  const name = randomBytes(4).toString("hex");
  await mkdir(dir, { recursive: true });
  // Any user inside must be able to write it.
  await withFolder(dir, async (folder) => folder.makeFile(name, new Uint8Array(), { mode: 0o666 }));
  return join(dir, name);
}
