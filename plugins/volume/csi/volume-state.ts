// What is remembered on disk of a CSI volume, so that it can be taken away knowing the path alone, by an agent that was started since:
//   <pod's volume>/vol_data.json       which volume of which driver it is; written before anything else, removed last
//   <pod's volume>/mount               where the driver publishes it
//   <staging>/<driver>/<hash>          where the driver stages it, once for all pods

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashOf, removeMountPoint, SharedMount } from "../shared-mount.ts";

export interface VolumeState {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly lifecycle: "Persistent" | "Ephemeral";
}

const fileName = "vol_data.json";

export const targetOf = (path: string) => join(path, "mount");

export function readState(path: string): VolumeState | undefined {
  try {
    return JSON.parse(readFileSync(join(path, fileName), "utf8")) as VolumeState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** In one step: a crash leaves all of it or none. */
export function writeState(path: string, state: VolumeState): void {
  mkdirSync(path, { recursive: true, mode: 0o750 });
  writeFileSync(join(path, `${fileName}.new`), JSON.stringify(state), { mode: 0o600 });
  renameSync(join(path, `${fileName}.new`), join(path, fileName));
}

/** The last step: afterwards nothing says that there was a volume. */
export function removeState(path: string): void {
  removeMountPoint(targetOf(path));
  for (const name of [`${fileName}.new`, fileName]) rmSync(join(path, name), { force: true });
  removeMountPoint(path);
}

/** The staging place of a volume, shared by all pods of this node. */
export function stagingOf(root: string, { driverName, volumeHandle }: VolumeState): SharedMount {
  return new SharedMount(join(root, driverName, hashOf(volumeHandle)));
}
