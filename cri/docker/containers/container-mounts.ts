// CRI's mounts and devices in the daemon's words.

import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Device, type Mount, MountPropagation } from "../../api/gen/runtime.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";

export interface EngineMount {
  readonly Type: "bind";
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: boolean;
  readonly BindOptions: {
    readonly Propagation: string;
    readonly ReadOnlyForceRecursive?: boolean;
    readonly ReadOnlyNonRecursive?: boolean;
  };
}

const propagations: Readonly<Record<number, string>> = {
  [MountPropagation.PROPAGATION_PRIVATE]: "rprivate",
  [MountPropagation.PROPAGATION_HOST_TO_CONTAINER]: "rslave",
  [MountPropagation.PROPAGATION_BIDIRECTIONAL]: "rshared",
};

/** `knowsRecursive`: daemons from API 1.44 on can, and do so unless told otherwise. */
export function toEngineMount(mount: Mount, knowsRecursive: boolean): EngineMount {
  const { hostPath, containerPath, readonly, recursiveReadOnly, propagation } = mount;
  const refuse = (code: "invalid" | "unsupported", why: string) =>
    new Fault(code, `Cannot mount "${hostPath || mount.image?.image}" at "${containerPath}": ${why}`);
  if (mount.image?.image) throw refuse("unsupported", "Docker has no image volumes");
  if (!hostPath.startsWith("/") || !containerPath.startsWith("/")) throw refuse("invalid", "a path is not absolute");
  if (mount.uidMappings.length > 0 || mount.gidMappings.length > 0)
    throw refuse("unsupported", "Docker has no mounts with owners of their own");
  const named = propagations[propagation];
  if (!named) throw refuse("invalid", `propagation ${propagation} is not known`);
  if (recursiveReadOnly && !knowsRecursive)
    throw refuse("unsupported", "this Docker cannot make it read-only all the way down");
  if (recursiveReadOnly && (!readonly || named !== "rprivate"))
    throw refuse("invalid", "recursively read-only must be read-only and private");
  // Other runtimes make what is missing; the daemon would refuse.
  if (!existsSync(hostPath)) mkdirSync(hostPath, { recursive: true, mode: 0o755 });
  const recursion =
    !readonly || !knowsRecursive
      ? {}
      : recursiveReadOnly
        ? { ReadOnlyForceRecursive: true }
        : { ReadOnlyNonRecursive: true };
  return {
    Type: "bind",
    Source: hostPath,
    Target: containerPath,
    ReadOnly: readonly,
    BindOptions: { Propagation: named, ...recursion },
  };
}

export interface EngineDevice {
  readonly PathOnHost: string;
  readonly PathInContainer: string;
  readonly CgroupPermissions: string;
}

export function toEngineDevice({ hostPath, containerPath, permissions }: Device): EngineDevice {
  return { PathOnHost: hostPath, PathInContainer: containerPath || hostPath, CgroupPermissions: permissions || "rwm" };
}

/** Mounted apart or made anew in every container. */
const ownDevices = /^\/dev\/(pts|shm|mqueue|fd|console|ptmx|null|zero|full|tty|random|urandom)$/;

/** Every device of the host, for a container that is privileged where the daemon's own mode does not work. */
export function hostDevices(folder = "/dev"): EngineDevice[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (ownDevices.test(path)) return [];
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return hostDevices(path);
    if (!found?.isCharacterDevice() && !found?.isBlockDevice()) return [];
    return [toEngineDevice({ hostPath: path, containerPath: path, permissions: "rwm" })];
  });
}
