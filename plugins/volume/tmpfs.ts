// A volume directory in memory: for secrets, which must not reach the disk, and for `medium: Memory`.

import { mkdirSync, rmSync } from "node:fs";
import { isLocalMountPoint, mount, mountFlags, unmount } from "../kit/platform/mount.ts";

export function mountTmpfs(path: string, options: { sizeBytes?: bigint; mode: number }): void {
  mkdirSync(path, { recursive: true });
  if (isLocalMountPoint(path)) return;
  const size = options.sizeBytes === undefined ? "" : `size=${options.sizeBytes},`;
  mount("tmpfs", path, "tmpfs", mountFlags.noSuid | mountFlags.noDev, `${size}mode=${options.mode.toString(8)}`);
}

/** Unmounts and removes the directory; nothing there is fine. */
export function removeVolume(path: string): void {
  unmount(path);
  rmSync(path, { recursive: true, force: true });
}
