// Makes a sandbox's namespaces as its pod asks: which it has of its own, its host name, its kernel settings.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname as hostHostname } from "node:os";
import { join } from "node:path";
import { type IDMapping, NamespaceMode, type PodSandboxConfig } from "../../api/gen/runtime.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { bind, libc, openFlags } from "../kernel/libc.ts";
import { type HeldNamespace, hold, makeNamespaces, within } from "../kernel/namespaces.ts";
import { nameProcess, type ProcessName } from "../../../plugins/kit/os/platform/processes.ts";
import { reaped, spawn } from "../kernel/spawn.ts";
import { emptyFolder, installHolder, startHolder } from "./pid-holder.ts";
import { hasUserNamespace, namespaceModes } from "./sandbox-record.ts";

export function hostnameOf(config: PodSandboxConfig): string {
  return config.hostname || hostHostname();
}

/** Which namespaces the pod has of its own. With the host's network it has the host's name too. */
export function ownNamespaces(config: PodSandboxConfig): HeldNamespace[] {
  const modes = namespaceModes(config);
  const ownsNetwork = modes.network !== NamespaceMode.NODE;
  return [
    ...(ownsNetwork ? (["net", "uts"] as const) : []),
    ...(modes.ipc !== NamespaceMode.NODE ? (["ipc"] as const) : []),
  ];
}

/** Returns the process that holds the pod's process namespace, where it shares one; `root` is where its program is kept. */
export async function makeSandboxNamespaces(
  root: string,
  folder: string,
  config: PodSandboxConfig,
): Promise<ProcessName | undefined> {
  const kinds = ownNamespaces(config);
  const sysctls = checkedSysctls(config, kinds);
  const settle = () => {
    if (kinds.includes("uts")) libc.sethostname(hostnameOf(config));
    if (kinds.includes("net")) raiseLoopback();
    for (const [path, value] of sysctls) writeSysctl(path, value);
  };
  const sharesProcesses = namespaceModes(config).pid === NamespaceMode.POD;
  if (!hasUserNamespace(config)) {
    makeNamespaces(folder, kinds, settle);
    return sharesProcesses ? startHolder(root, folder) : undefined;
  }
  const holder = await makeUserNamespaces(folder, config, kinds, sharesProcesses ? installHolder(root) : undefined);
  within(folder, kinds, settle);
  return holder;
}

const ipcSysctls = /^(kernel\/(shm\w+|msg\w+|sem)|fs\/mqueue\/\w+)$/;

/** Only those that belong to a namespace of the pod: any other would change the host. */
function checkedSysctls(config: PodSandboxConfig, kinds: readonly HeldNamespace[]): [path: string, value: string][] {
  return Object.entries(config.linux?.sysctls ?? {}).map(([name, value]) => {
    // Either separator may be written; a dot may also be part of an interface's name, then slashes separate.
    const path = name.includes("/") ? name : name.replaceAll(".", "/");
    const isOfPod =
      (path.startsWith("net/") && kinds.includes("net")) ||
      (ipcSysctls.test(path) && kinds.includes("ipc")) ||
      (path === "kernel/domainname" && kinds.includes("uts"));
    if (!isOfPod || path.split("/").includes("..")) {
      throw new Fault(
        "invalid",
        `Cannot set sysctl "${name}": it is not part of a namespace that the pod has of its own`,
      );
    }
    return [path, value];
  });
}

function writeSysctl(path: string, value: string): void {
  try {
    writeFileSync(join("/proc/sys", path), value);
  } catch (cause) {
    throw new Fault("invalid", `Cannot set sysctl "${path}" to "${value}": ${(cause as Error).message}`, { cause });
  }
}

const setInterfaceFlags = 0x8914;
const upAndRunning = 0x1 | 0x40;

function raiseLoopback(): void {
  const fd = libc.socket(2, 2);
  try {
    const request = Buffer.alloc(40);
    request.write("lo");
    request.writeUInt16LE(upAndRunning, 16);
    bind("int ioctl(int fd, unsigned long request, void *argument)")(fd, setInterfaceFlags, request);
  } finally {
    libc.close(fd);
  }
}

/**
 * A process with more than one thread may not enter a new user namespace, so a helper does. It ends as soon as the namespaces are
 * held; only what holds a process namespace stays. Namespaces made with it belong to it, which lets the pod's root rule them.
 */
async function makeUserNamespaces(
  folder: string,
  config: PodSandboxConfig,
  kinds: readonly HeldNamespace[],
  holderProgram: string | undefined,
): Promise<ProcessName | undefined> {
  const user = namespaceModes(config).user;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const flags = ["--user", ...kinds.map((kind) => `--${kind}`), ...(holderProgram ? ["--pid", "--fork"] : [])];
  const empty = emptyFolder(folder);
  const command = holderProgram ? [holderProgram] : ["/bin/sleep", "30"];
  const helper = spawn({ path: "/usr/bin/unshare", args: [...flags, ...command], cwd: empty });
  try {
    const inside = await soon("its helper does not begin", () => {
      const pid = holderProgram ? childOf(helper) : helper;
      const [program] = pid ? readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0") : [];
      // From here on it is where it shall be: it enters first and then becomes the command.
      return program === command[0] ? pid : undefined;
    });
    writeFileSync(`/proc/${inside}/uid_map`, mappingText(user?.uids ?? []));
    writeFileSync(`/proc/${inside}/gid_map`, mappingText(user?.gids ?? []));
    for (const kind of ["user", ...kinds, ...(holderProgram ? ["pid"] : [])]) {
      hold(`/proc/${inside}/ns/${kind}`, join(folder, kind));
    }
    return holderProgram ? nameProcess(inside) : undefined;
  } finally {
    libc.kill(helper, 9);
    await reaped(helper);
  }
}

function childOf(pid: number): number | undefined {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")[0]) || undefined;
}

async function soon<T>(otherwise: string, look: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 2000; tries++) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Fault("internal", `Cannot make a user namespace: ${otherwise}`);
}

const mappingText = (mappings: readonly IDMapping[]) =>
  mappings.map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}\n`).join("");

/** Opens a held user namespace, for mounts that shift owners; the caller closes it. */
export function openUserNamespace(folder: string): number {
  return libc.open(join(folder, "user"), openFlags.readOnly);
}
