// The mounts of a container: what every container gets, what its sandbox brings, and what CRI asks for. Pure.

import { type Mount, MountPropagation } from "../../api/gen/runtime.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { OciMount } from "./oci-spec.ts";

export interface MountPlan {
  readonly mounts: OciMount[];
  /** Of the container's root, when a mount needs more than private. */
  readonly rootPropagation: "rslave" | "rshared" | undefined;
}

export interface MountInput {
  readonly wanted: readonly Mount[];
  readonly isPrivileged: boolean;
  readonly isRootReadOnly: boolean;
  readonly cgroupVersion: 1 | 2;
  /** Files of the sandbox by their place in the container, unless CRI mounts something there. */
  readonly sandboxFiles: Readonly<Record<string, string>>;
  /** The shared memory of the sandbox or the host. */
  readonly shmPath: string;
  readonly ownsNetwork: boolean;
  readonly hasUserNamespace: boolean;
}

const propagations: Record<number, string> = {
  [MountPropagation.PROPAGATION_PRIVATE]: "rprivate",
  [MountPropagation.PROPAGATION_HOST_TO_CONTAINER]: "rslave",
  [MountPropagation.PROPAGATION_BIDIRECTIONAL]: "rshared",
};

export function planMounts(input: MountInput): MountPlan {
  const wanted = input.wanted.map((mount) => ({ ...mount, containerPath: cleanPath(mount.containerPath) }));
  const taken = new Set(wanted.map(({ containerPath }) => containerPath));
  const binds = wanted.map(toBind);
  const files = Object.entries(input.sandboxFiles)
    .filter(([path]) => !taken.has(path))
    .map(([destination, source]) => ({
      destination,
      type: "bind",
      source,
      options: ["rbind", "rprivate", input.isRootReadOnly ? "ro" : "rw"],
    }));
  const shm = {
    destination: "/dev/shm",
    type: "bind",
    source: input.shmPath,
    options: ["rbind", "rprivate", "rw", "nosuid", "nodev", "noexec"],
  };
  const shares = wanted.map(({ propagation }) => propagation);
  const rootPropagation = shares.includes(MountPropagation.PROPAGATION_BIDIRECTIONAL)
    ? "rshared"
    : shares.includes(MountPropagation.PROPAGATION_HOST_TO_CONTAINER)
      ? "rslave"
      : undefined;
  // Parents before children, otherwise a later mount would hide an earlier one; equals keep their order.
  const asked = [...(taken.has("/dev/shm") ? [] : [shm]), ...files, ...binds].sort(
    (a, b) => depth(a.destination) - depth(b.destination),
  );
  return {
    mounts: [...systemMounts(input).filter(({ destination }) => !taken.has(destination)), ...asked],
    rootPropagation,
  };
}

function systemMounts(input: MountInput): OciMount[] {
  const access = input.isPrivileged ? "rw" : "ro";
  // A user namespace that does not own the network may not mount sysfs: it sees the host's.
  const sysfs: OciMount =
    input.hasUserNamespace && !input.ownsNetwork
      ? { destination: "/sys", type: "bind", source: "/sys", options: ["rbind", "nosuid", "noexec", "nodev", "ro"] }
      : { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", access] };
  return [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
    {
      destination: "/dev",
      type: "tmpfs",
      source: "tmpfs",
      options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
    },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
    },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] },
    sysfs,
    {
      destination: "/sys/fs/cgroup",
      type: "cgroup",
      source: "cgroup",
      options: ["nosuid", "noexec", "nodev", "relatime", access],
    },
  ];
}

function toBind(mount: Mount): OciMount {
  if (!mount.containerPath.startsWith("/")) {
    throw new Fault(
      "invalid",
      `Cannot mount "${mount.hostPath}": the place in the container "${mount.containerPath}" is not absolute`,
    );
  }
  if (!mount.hostPath.startsWith("/"))
    throw new Fault("invalid", `Cannot mount "${mount.hostPath}": it is not an absolute path`);
  if (mount.recursiveReadOnly && (!mount.readonly || mount.propagation !== MountPropagation.PROPAGATION_PRIVATE)) {
    throw new Fault(
      "invalid",
      `Cannot mount "${mount.hostPath}" recursively read-only: it must be read-only and private`,
    );
  }
  const propagation = propagations[mount.propagation];
  if (!propagation)
    throw new Fault("invalid", `Cannot mount "${mount.hostPath}": propagation ${mount.propagation} is not known`);
  const access = mount.recursiveReadOnly ? "rro" : mount.readonly ? "ro" : "rw";
  return {
    destination: mount.containerPath,
    type: "bind",
    source: mount.hostPath,
    options: ["rbind", propagation, access],
  };
}

const depth = (path: string) => path.split("/").filter(Boolean).length;

function cleanPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new Fault("invalid", `Cannot mount at "${path}": it has a ".." in it`);
  return path.startsWith("/") ? `/${parts.join("/")}` : path;
}
