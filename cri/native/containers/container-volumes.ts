// What a container's mounts need on the host before the OCI runtime binds them: folders that are missing, images that are volumes, and
// mounts that show owners as the pod's own users.

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { IDMapping, Mount } from "../../api/gen/runtime.js";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import { closeHandle } from "../../../plugins/kit/os/safe-files/calls.ts";
import { openBeneath } from "../../../plugins/kit/os/safe-files/open-beneath.ts";
import { bindMount, forbiddenAt, unmount } from "../kernel/mounts.ts";
import { mountShiftedTree } from "../kernel/shifted-mount.ts";
import type { Native } from "../native.ts";
import { namespaceModes, type SandboxRecord } from "../sandboxes/sandbox-record.ts";
import type { ContainerRecord } from "./container-record.ts";
import { mountImage } from "./container-rootfs.ts";
import type { OciMount } from "./oci-spec.ts";

/** Everything is made in the container's folder as `volume-<at>`, and goes with it. */
export function prepareMounts(
  native: Native,
  record: ContainerRecord,
  sandbox: SandboxRecord,
  userFd: number | undefined,
): Mount[] {
  return record.config.mounts.map((mount, at) => {
    const folder = native.paths.container(record.id);
    const target = join(folder, `volume-${at}`);
    if (mount.image?.image) return imageVolume(native, mount, { folder, target, userFd });
    if (mount.hostPath.startsWith("/") && !statSync(mount.hostPath, { throwIfNoEntry: false })) {
      mkdirSync(mount.hostPath, { recursive: true, mode: 0o755 });
    }
    if (mount.uidMappings.length === 0 && mount.gidMappings.length === 0) return mount;
    checkMappings(mount, sandbox);
    if (userFd === undefined) return mount;
    makeTarget(mount.hostPath, target);
    if (mountShiftedTree({ source: mount.hostPath, target, userFd })) return { ...mount, hostPath: target };
    native.log.warn(
      { path: mount.hostPath, container: record.id },
      "a file system cannot show owners as the pod's own users: its files are nobody's there",
    );
    return mount;
  });
}

/** A user namespace may make a mount read-only, but not lift by that what the mount forbids: it has to be said again. */
export function keepForbidden(mounts: readonly OciMount[]): OciMount[] {
  return mounts.map((mount) => {
    if (mount.type !== "bind" || !mount.options?.includes("ro")) return mount;
    return { ...mount, options: [...new Set([...mount.options, ...forbiddenAt(mount.source ?? "")])] };
  });
}

/** Takes the mounts away again that were made for a container; idempotent. */
export function releaseVolumes(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names) if (name.startsWith("volume-")) unmount(join(folder, name));
}

function imageVolume(
  native: Native,
  mount: Mount,
  { folder, target, userFd }: { folder: string; target: string; userFd: number | undefined },
): Mount {
  const name = mount.image?.image ?? "";
  const layers = native.images.store.get(name).layers.map((diffId) => native.images.store.layers.path(diffId));
  mountImage({ folder, layers, target, ...(userFd === undefined ? {} : { userFd }) });
  const hostPath = mount.imageSubPath === "" ? target : bindImagePath(name, target, mount.imageSubPath);
  return { ...mount, hostPath, readonly: true };
}

/** Bound from a handle below the image's root: a link of the image cannot lead to the host's files, where the OCI runtime would follow it. */
function bindImagePath(name: string, root: string, subPath: string): string {
  const doing = `Cannot mount image "${name}": sub path "${subPath}"`;
  if (subPath.startsWith("/") || subPath.split("/").includes(".."))
    throw new Fault("invalid", `${doing} must be relative and must not contain ".."`);
  const target = `${root}-path`;
  let handle: number;
  try {
    handle = openBeneath(root, subPath, { followsLinks: true });
  } catch (error) {
    if (isFault(error, "not-found")) throw new Fault("not-found", `${doing} does not exist`, { cause: error });
    if (isFault(error, "forbidden")) throw new Fault("invalid", `${doing} leads out of it`, { cause: error });
    throw error;
  }
  try {
    const source = `/proc/self/fd/${handle}`;
    makeTarget(source, target);
    bindMount(source, target);
  } finally {
    closeHandle(handle);
  }
  return target;
}

/** Only the pod's own mapping has a namespace that could show it. */
function checkMappings(mount: Mount, sandbox: SandboxRecord): void {
  const { user } = namespaceModes(sandbox.config);
  const isSame = (asked: readonly IDMapping[], own: readonly IDMapping[] = []) =>
    asked.length === own.length &&
    asked.every((mapping, at) => {
      const other = own[at];
      return (
        mapping.hostId === other?.hostId && mapping.containerId === other.containerId && mapping.length === other.length
      );
    });
  if (isSame(mount.uidMappings, user?.uids) && isSame(mount.gidMappings, user?.gids)) return;
  throw new Fault("invalid", `Cannot mount "${mount.hostPath}": its id mappings are not those of the pod`);
}

function makeTarget(source: string, target: string): void {
  if (statSync(source).isDirectory()) mkdirSync(target, { recursive: true, mode: 0o755 });
  else closeSync(openSync(target, "w", 0o644));
}
