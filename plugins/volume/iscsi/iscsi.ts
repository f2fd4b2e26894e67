// iscsi: a disk of an iSCSI target, logged in to and mounted once for the node, bound into each pod that uses it.
//
// Invariant: work on disks never overlaps: two disks of one target share its session.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../kit/base/call.ts";
import { checkSettings, string, withDefault } from "../../kit/base/config-check.ts";
import { KeyedLock } from "../../kit/base/keyed-lock.ts";
import { isMountPoint, mount, mountFlags, unmount } from "../../kit/os/platform/mount.ts";
import type { Plugin } from "../../kit/base/plugin.ts";
import { type PodObjects, podObjectsKind } from "../../kit/contracts/pod-objects.ts";
import { type VolumeMountRequest, type VolumePlugin, volumeKind } from "../../kit/contracts/volume.ts";
import { formatAndMount } from "../format-and-mount.ts";
import { applyFsGroup } from "../ownership.ts";
import { removeMountPoint } from "../shared-mount.ts";
import { chapOf } from "./chap.ts";
import { type Disk, diskOf, remember, rememberedDisks, sharedMountOf } from "./disk.ts";
import { Initiator } from "./initiator.ts";

interface Parts {
  readonly root: string;
  readonly initiator: Initiator;
  readonly objects: PodObjects | undefined;
}

class IscsiVolumes implements VolumePlugin {
  readonly name = "kubernetes.io/iscsi";
  readonly #parts: Parts;
  readonly #lock = new KeyedLock();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  supports(volume: VolumeMountRequest["volume"]): boolean {
    return volume.iscsi !== undefined;
  }

  async mount(request: VolumeMountRequest, call: Call): Promise<void> {
    const { path, volume, persistentVolume } = request;
    const disk = diskOf(request);
    const readOnly = request.readOnly || volume.iscsi?.readOnly === true;
    await this.#lock.run(disk.iqn, async () => {
      mkdirSync(path, { recursive: true, mode: 0o750 });
      if (isMountPoint(path)) return;
      const shared = sharedMountOf(this.#parts.root, disk);
      remember(shared, disk);
      shared.addUser(path);
      if (!isMountPoint(shared.path)) {
        const device = await this.#parts.initiator.attach(disk, await chapOf(request, this.#parts.objects, call), call);
        const options = persistentVolume?.spec?.mountOptions ?? [];
        const fsType = volume.iscsi?.fsType || "ext4";
        await formatAndMount({ device, path: shared.path, fsType, options, readOnly }, call);
      }
      mount(shared.path, path, null, mountFlags.bind);
      if (readOnly) mount("none", path, null, mountFlags.bind | mountFlags.remount | mountFlags.readOnly);
      else await applyFsGroup(path, request, call);
    });
  }

  async unmount(path: string, call: Call): Promise<void> {
    unmount(path);
    for (const { disk, mount: shared } of rememberedDisks(this.#parts.root)) {
      if (!shared.hasUser(path)) continue;
      await this.#lock.run(disk.iqn, async () => {
        if (shared.users().every((user) => user === path)) {
          unmount(shared.path);
          await this.#parts.initiator.detach(disk, this.#unusedPortals(disk, shared.dir), call);
          shared.remove();
        } else shared.removeUser(path);
      });
    }
    // Last: as long as it is there, somebody will come and ask again.
    removeMountPoint(path);
  }

  /** Portals whose session no other disk of the same target needs. */
  #unusedPortals({ iqn, iface, portals }: Disk, dir: string): string[] {
    const others = rememberedDisks(this.#parts.root).filter(
      ({ disk, mount: shared }) => shared.dir !== dir && disk.iqn === iqn && disk.iface === iface,
    );
    return portals.filter((portal) => !others.some(({ disk }) => disk.portals.includes(portal)));
  }
}

interface Settings {
  /** The initiator's program. */
  readonly program: string;
  /** Where the kernel's links to its disks lie. */
  readonly devices: string;
}

export const iscsi: Plugin<VolumePlugin, Settings> = {
  kind: volumeKind,
  name: "iscsi",
  needs: [podObjectsKind],
  keys: {
    program: "the initiator's program (default: iscsiadm)",
    devices: "where the kernel's links to its disks lie (default: /dev/disk/by-path)",
  },
  configure(raw) {
    return checkSettings(raw, {
      program: withDefault(string, "iscsiadm"),
      devices: withDefault(string, "/dev/disk/by-path"),
    });
  },
  open(host) {
    const initiator = new Initiator({ ...host.settings, clock: host.clock });
    return new IscsiVolumes({ root: join(host.stateDir, "disks"), initiator, objects: host.all(podObjectsKind)[0] });
  },
};
