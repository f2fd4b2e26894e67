// One disk of an iSCSI target as a pod's volume names it, and what is remembered of it on disk for taking it away later.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { VolumeMountRequest } from "../../kit/contracts/volume.ts";
import { hashOf, SharedMount } from "../shared-mount.ts";

export interface Disk {
  readonly iqn: string;
  readonly lun: number;
  /** With their port. */
  readonly portals: readonly string[];
  /** The interface of the initiator; one of its own when the volume names the initiator. */
  readonly iface: string;
  readonly baseIface: string;
  readonly initiatorName?: string;
}

const defaultPort = 3260;
const fileName = "disk.json";

export function diskOf({ volume }: VolumeMountRequest): Disk {
  const { iscsi } = volume;
  const portals = [iscsi?.targetPortal ?? "", ...(iscsi?.portals ?? [])].filter((portal) => portal !== "");
  const withPort = portals.map((portal) => (/(\]|^[^:]*):\d+$/.test(portal) ? portal : `${portal}:${defaultPort}`));
  const baseIface = iscsi?.iscsiInterface ?? "default";
  const { initiatorName } = iscsi ?? {};
  return {
    iqn: iscsi?.iqn ?? "",
    lun: iscsi?.lun ?? 0,
    portals: [...new Set(withPort)],
    baseIface,
    iface: initiatorName ? `${withPort[0]}:${volume.name}` : baseIface,
    ...(initiatorName ? { initiatorName } : {}),
  };
}

/** Everything about a disk lies in one folder. */
export function sharedMountOf(root: string, { iqn, lun, iface, portals }: Disk): SharedMount {
  return new SharedMount(join(root, hashOf([iqn, lun, iface, ...portals].join("\n"))));
}

/** Before anybody logs in, so that whoever logged in can be found. */
export function remember(mount: SharedMount, disk: Disk): void {
  mkdirSync(mount.dir, { recursive: true, mode: 0o750 });
  writeFileSync(join(mount.dir, `${fileName}.new`), JSON.stringify(disk));
  renameSync(join(mount.dir, `${fileName}.new`), join(mount.dir, fileName));
}

/** All disks of this node, with where they are mounted. */
export function rememberedDisks(root: string): { disk: Disk; mount: SharedMount }[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .map((name) => new SharedMount(join(root, name)))
    .filter(({ dir }) => existsSync(join(dir, fileName)))
    .map((mount) => ({ mount, disk: JSON.parse(readFileSync(join(mount.dir, fileName), "utf8")) as Disk }));
}
