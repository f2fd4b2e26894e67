// A volume directory in memory: for secrets, which must not reach the disk, and for `medium: Memory`.

import { mkdirSync } from "node:fs";
import type { Call } from "../kit/base/call.ts";
import { isLocalMountPoint, mount, mountFlags, unmount } from "../kit/os/platform/mount.ts";
import { removeTree } from "../kit/os/safe-files/remove-tree.ts";

/** False where it was mounted already. */
export function mountTmpfs(path: string, options: { sizeBytes?: bigint; mode: number }): boolean {
  mkdirSync(path, { recursive: true });
  if (isLocalMountPoint(path)) return false;
  const size = options.sizeBytes === undefined ? "" : `size=${options.sizeBytes},`;
  mount("tmpfs", path, "tmpfs", mountFlags.noSuid | mountFlags.noDev, `${size}mode=${options.mode.toString(8)}`);
  return true;
}

/** Unmounts and removes the directory; nothing there is fine. */
export async function removeVolume(path: string, call: Call): Promise<void> {
  unmount(path);
  await removeTree(path, call);
}
