// Which capabilities a container gets: a small default set, what is added and dropped, and never more than the host has itself.

import { readFileSync } from "node:fs";
import type { Capability } from "./gen/runtime.js";
import { Fault } from "../../plugins/kit/base/fault.ts";

/** In the kernel's order: the index is the number. */
export const allCapabilities = (
  "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE " +
  "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN " +
  "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE " +
  "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
)
  .split(" ")
  .map((name) => `CAP_${name}`);

const defaults =
  "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE"
    .split(" ")
    .map((name) => `CAP_${name}`);

export interface CapabilitySets {
  readonly bounding: string[];
  readonly ambient: string[];
}

/** What this process itself may hand out. */
export function hostCapabilities(status: string = readFileSync("/proc/self/status", "utf8")): string[] {
  const mask = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
  return allCapabilities.filter((_, bit) => ((mask >> BigInt(bit)) & 1n) === 1n);
}

export function capabilitySets(
  wanted: Capability | undefined,
  isPrivileged: boolean,
  host: readonly string[],
): CapabilitySets {
  const named = (names: readonly string[]) =>
    names.map((name) => {
      const upper = name.toUpperCase();
      const full = upper.startsWith("CAP_") ? upper : `CAP_${upper}`;
      if (upper !== "ALL" && !allCapabilities.includes(full))
        throw new Fault("invalid", `Cannot use capability "${name}": it is not known`);
      return upper === "ALL" ? "ALL" : full;
    });
  const add = named(wanted?.addCapabilities ?? []);
  const drop = named(wanted?.dropCapabilities ?? []);
  const ambient = named(wanted?.addAmbientCapabilities ?? []).flatMap((name) =>
    name === "ALL" ? allCapabilities : [name],
  );
  let set = new Set(isPrivileged || add.includes("ALL") ? allCapabilities : defaults);
  if (drop.includes("ALL")) set = new Set(isPrivileged ? allCapabilities : add.includes("ALL") ? allCapabilities : []);
  for (const name of [...add, ...ambient]) if (name !== "ALL") set.add(name);
  for (const name of drop) if (name !== "ALL" && !isPrivileged) set.delete(name);
  const granted = (names: Iterable<string>) =>
    allCapabilities.filter((name) => new Set(names).has(name) && host.includes(name));
  return { bounding: granted(set), ambient: granted(ambient) };
}
