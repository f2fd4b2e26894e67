// Where a pod's volumes lie on disk. The layout says all that clean-up needs to know after a restart:
//   <root>/pods/<uid>/volumes/<plugin~name>/<volume>            what the plugin mounted
//   <root>/pods/<uid>/plugins/<plugin~name>/<volume>/ready      it was mounted whole once
//   <root>/pods/<uid>/volume-subpaths/<volume>/<container>/<n>   binds of sub paths

import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface VolumeOnDisk {
  readonly pluginName: string;
  readonly path: string;
}

const escapeName = (pluginName: string) => pluginName.replaceAll("/", "~");
const unescapeName = (folder: string) => folder.replaceAll("~", "/");

export class PodDirectories {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  pod(uid: string): string {
    return join(this.#root, "pods", uid);
  }

  volume(uid: string, pluginName: string, volumeName: string): string {
    return join(this.pod(uid), "volumes", escapeName(pluginName), volumeName);
  }

  /** The volume was mounted whole for the pod, with its owners set; also before a restart. */
  isReady(uid: string, pluginName: string, volumeName: string): boolean {
    return existsSync(join(this.#readyDir(uid, pluginName, volumeName), "ready"));
  }

  setReady(uid: string, pluginName: string, volumeName: string): void {
    const dir = this.#readyDir(uid, pluginName, volumeName);
    mkdirSync(dir, { recursive: true, mode: 0o750 });
    writeFileSync(join(dir, "ready"), "", { mode: 0o640 });
  }

  #readyDir(uid: string, pluginName: string, volumeName: string): string {
    return join(this.pod(uid), "plugins", escapeName(pluginName), volumeName);
  }

  subPath(uid: string, volumeName: string, containerName: string, index: number): string {
    return join(this.pod(uid), "volume-subpaths", volumeName, containerName, String(index));
  }

  pods(): string[] {
    return names(join(this.#root, "pods")).filter((uid) => existsSync(join(this.pod(uid), "volumes")));
  }

  volumes(uid: string): VolumeOnDisk[] {
    const base = join(this.pod(uid), "volumes");
    return names(base).flatMap((folder) =>
      names(join(base, folder)).map((name) => ({ pluginName: unescapeName(folder), path: join(base, folder, name) })),
    );
  }

  subPaths(uid: string): string[] {
    const base = join(this.pod(uid), "volume-subpaths");
    return names(base).flatMap((volume) =>
      names(join(base, volume)).flatMap((container) =>
        names(join(base, volume, container)).map((index) => join(base, volume, container, index)),
      ),
    );
  }

  /** Removes the empty folders that are left; one that is not empty stays, so that nothing mounted is ever deleted through. */
  removeEmpty(uid: string): void {
    // Never mounted into a container, and nothing is mounted in it.
    rmSync(join(this.pod(uid), "plugins"), { recursive: true, force: true });
    removeEmptyBelow(join(this.pod(uid), "volume-subpaths"));
    removeEmptyBelow(join(this.pod(uid), "volumes"));
    removeEmptyBelow(this.pod(uid), false);
  }
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || (error as NodeJS.ErrnoException).code === "ENOTDIR")
      return [];
    throw error;
  }
}

function removeEmptyBelow(directory: string, isDeep = true): void {
  if (isDeep) for (const name of names(directory)) removeEmptyBelow(join(directory, name));
  try {
    rmdirSync(directory);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENOENT" && code !== "ENOTEMPTY" && code !== "ENOTDIR" && code !== "EBUSY") throw error;
  }
}
