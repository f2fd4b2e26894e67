// local: a directory of this node behind a persistent volume, or a block device of its own, which is mounted once for all pods that use it.
//
// Invariant: work on devices never overlaps.

import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../kit/base/call.ts";
import { Fault } from "../kit/base/fault.ts";
import { KeyedLock } from "../kit/base/keyed-lock.ts";
import { isMountPoint, mount, mountFlags, unmount } from "../kit/os/platform/mount.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type VolumeMountRequest, type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import { formatAndMount } from "./format-and-mount.ts";
import { applyFsGroup } from "./ownership.ts";
import { hashOf, removeMountPoint, SharedMount } from "./shared-mount.ts";

interface LocalSource {
  local?: { path: string; fsType?: string };
}

const sourceOf = ({ volume }: VolumeMountRequest) => (volume as LocalSource).local ?? { path: "" };

class LocalVolumes implements VolumePlugin {
  readonly name = "kubernetes.io/local-volume";
  readonly #root: string;
  readonly #lock = new KeyedLock();

  constructor(root: string) {
    this.#root = root;
  }

  supports(volume: VolumeMountRequest["volume"]): boolean {
    return (volume as LocalSource).local !== undefined;
  }

  async mount(request: VolumeMountRequest, call: Call): Promise<void> {
    const { path } = sourceOf(request);
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) throw new Fault("unavailable", `Cannot use local volume: path "${path}" does not exist on this node`);
    const isDisk = found.isBlockDevice() && request.persistentVolume?.spec?.volumeMode !== "Block";
    if (isDisk) await this.#lock.run("", () => this.#mountDisk(request, call));
    if (!request.readOnly && (isDisk || found.isDirectory())) await applyFsGroup(this.hostPath(request), request, call);
  }

  async #mountDisk(request: VolumeMountRequest, call: Call): Promise<void> {
    const { path: device, fsType = "" } = sourceOf(request);
    const { path, persistentVolume, readOnly } = request;
    if (isMountPoint(path)) return;
    mkdirSync(path, { recursive: true, mode: 0o750 });
    const shared = new SharedMount(join(this.#root, hashOf(device)));
    shared.addUser(path);
    const options = persistentVolume?.spec?.mountOptions ?? [];
    await formatAndMount({ device, path: shared.path, fsType, options, readOnly }, call);
    mount(shared.path, path, null, mountFlags.bind);
    if (readOnly) mount("none", path, null, mountFlags.bind | mountFlags.remount | mountFlags.readOnly);
  }

  async unmount(path: string): Promise<void> {
    await this.#lock.run("", async () => {
      unmount(path);
      for (const shared of this.#sharedMounts()) {
        if (!shared.hasUser(path)) continue;
        if (shared.users().every((user) => user === path)) {
          unmount(shared.path);
          shared.remove();
        } else shared.removeUser(path);
      }
      // Last: as long as it is there, somebody will come and ask again.
      removeMountPoint(path);
    });
  }

  /** A directory is used where it is. */
  hostPath(request: VolumeMountRequest): string {
    return isMountPoint(request.path) ? request.path : sourceOf(request).path;
  }

  #sharedMounts(): SharedMount[] {
    if (!existsSync(this.#root)) return [];
    return readdirSync(this.#root).map((name) => new SharedMount(join(this.#root, name)));
  }
}

export const local: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "local",
  open: (host) => new LocalVolumes(join(host.stateDir, "disks")),
};
