// What a checkpoint keeps of a container's root file system, packed by tar. The container runs on meanwhile, and may swap directories for
// links: tar enters no link, and waits for no FIFO.

import { accessSync, constants, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { withFolder } from "../../../plugins/kit/os/safe-files/folder.ts";
import { type TreeEntry, walkTree } from "../../../plugins/kit/os/safe-files/walk-tree.ts";
import type { Spawner } from "../kernel/spawn.ts";

type Runs = Pick<Spawner, "run">;

/** Its path, or undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const paths = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      // Not in this one.
      return false;
    }
  });
}

export const environment = () => ({ PATH: process.env.PATH ?? "" });

/** Writes `deleted.files` and `rootfs-diff.tar` into the folder: what the container deleted of its image, and what it wrote. */
export async function packChanges(
  spawner: Runs,
  { upper, folder }: { upper: string; folder: string },
  call: Call,
): Promise<void> {
  const deleted = await whiteouts(upper, call);
  writeFileSync(join(folder, "deleted.files"), JSON.stringify(deleted));
  const excluded = join(folder, "excluded");
  writeFileSync(excluded, deleted.map((path) => `./${path}\n`).join(""));
  await pack(
    spawner,
    ["--no-wildcards", `--exclude-from=${excluded}`, "-C", upper, "."],
    join(folder, "rootfs-diff.tar"),
    call,
  );
  rmSync(excluded);
}

/** What the container deleted of its image: overlayfs keeps a device 0:0 in its place. */
async function whiteouts(upper: string, call: Call): Promise<string[]> {
  const found: string[] = [];
  // The container goes on running, and may swap directories for links meanwhile.
  const visit = ({ path, stats }: TreeEntry) => {
    if (stats.isCharacterDevice() && stats.rdev === 0) found.push(path());
  };
  await withFolder(upper, (root) => walkTree(root, { visit }, call));
  return found;
}

export async function pack(spawner: Runs, what: readonly string[], to: string, call: Call): Promise<void> {
  const args = ["--create", "--xattrs", "--numeric-owner", `--file=${to}`, ...what];
  writeFileSync(to, "", { mode: 0o600 });
  const done = await spawner.run({ path: findProgram("tar") ?? "tar", args, env: environment() }, call);
  if (done.exitCode !== 0)
    throw new Fault("internal", `Cannot pack a checkpoint: ${done.stderr.toString("utf8").trim()}`);
}
