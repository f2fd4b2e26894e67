// What this host allows its containers: learned once when the runtime opens.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hostCapabilities } from "../../api/capabilities.ts";
import type { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
import { type AppArmor, learnAppArmor } from "./app-armor.ts";
import type { CgroupFacts } from "./container-resources.ts";
import type { OciDevice } from "./oci-spec.ts";

export interface HostFacts extends CgroupFacts {
  readonly capabilities: readonly string[];
  /** The lowest oom_score_adj that may be given to a child. */
  readonly lowestOomScoreAdj: number;
  readonly maxOpenFiles: number;
  /** Absent where the host has none. */
  readonly appArmor?: AppArmor | undefined;
  /** Device nodes of the host, for privileged containers. */
  devices(): OciDevice[];
}

const wantedOpenFiles = 1_048_576;

export function learnHost(
  { version: cgroupVersion, controllers }: Pick<Cgroups, "version" | "controllers">,
  log: Log,
): HostFacts {
  const capabilities = hostCapabilities();
  const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? "1024";
  return {
    cgroupVersion,
    controllers,
    capabilities,
    lowestOomScoreAdj: capabilities.includes("CAP_SYS_RESOURCE") ? -1000 : own,
    maxOpenFiles: Math.min(wantedOpenFiles, hard === "unlimited" ? wantedOpenFiles : Number(hard)),
    appArmor: learnAppArmor({ log }),
    devices: () => devicesIn("/dev"),
  };
}

/** Mounted apart or made by the runtime itself in every container. */
const ownDevices = new Set([
  "pts",
  "shm",
  "mqueue",
  "fd",
  "console",
  "ptmx",
  "null",
  "zero",
  "full",
  "tty",
  "random",
  "urandom",
]);

function devicesIn(folder: string): OciDevice[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (folder === "/dev" && ownDevices.has(entry.name)) return [];
    if (entry.isDirectory()) return devicesIn(path);
    const device = deviceAt(path, path);
    return device && !entry.isSymbolicLink() ? [device] : [];
  });
}

/** A host's device node as a container is to see it, or undefined where the path is no device. */
export function deviceAt(hostPath: string, containerPath: string): OciDevice | undefined {
  const found = statSync(hostPath, { throwIfNoEntry: false });
  if (!found || (!found.isCharacterDevice() && !found.isBlockDevice())) return undefined;
  const number = BigInt(found.rdev);
  return {
    path: containerPath,
    type: found.isBlockDevice() ? "b" : "c",
    major: Number(((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn)),
    minor: Number((number & 0xffn) | ((number >> 12n) & ~0xffn)),
    fileMode: found.mode & 0o7777,
    uid: found.uid,
    gid: found.gid,
  };
}
