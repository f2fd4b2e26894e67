// CRI's security context in the daemon's words. Pure, but for the file of a seccomp profile.

import { readFileSync } from "node:fs";
import { capabilitySets } from "../../api/capabilities.ts";
import {
  type ContainerConfig,
  type LinuxContainerSecurityContext,
  SecurityProfile_ProfileType,
} from "../../api/gen/runtime.js";
import { checkRunAs } from "../../api/request-check.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { HostFacts } from "../docker.ts";

export interface SecurityFields {
  readonly Privileged: boolean;
  readonly CapAdd: readonly string[];
  readonly CapDrop: readonly string[];
  readonly SecurityOpt: readonly string[];
  readonly ReadonlyRootfs: boolean;
  readonly MaskedPaths: readonly string[];
  readonly ReadonlyPaths: readonly string[];
  readonly GroupAdd: readonly string[];
  /** Rules beyond the devices that are named. */
  readonly DeviceCgroupRules: readonly string[];
}

export function securityFields(config: ContainerConfig, host: HostFacts): SecurityFields {
  const security = config.linux?.securityContext;
  const isPrivileged = security?.privileged ?? false;
  // The daemon's own mode hands out capabilities that a host may not have, and then nothing starts: what there is, is given instead.
  const isFull = isPrivileged && host.hasAllCapabilities;
  const { bounding } = capabilitySets(security?.capabilities, isPrivileged, host.capabilities);
  return {
    Privileged: isFull,
    CapAdd: isFull ? [] : bounding.filter((name) => isOffered(name, security?.capabilities?.addCapabilities ?? [])),
    CapDrop: isFull ? [] : ["ALL"],
    SecurityOpt: securityOptions(security, isPrivileged, host),
    ReadonlyRootfs: security?.readonlyRootfs ?? false,
    MaskedPaths: isPrivileged ? [] : (security?.maskedPaths ?? []),
    ReadonlyPaths: isPrivileged ? [] : (security?.readonlyPaths ?? []),
    GroupAdd: (security?.supplementalGroups ?? []).map(String),
    DeviceCgroupRules: isPrivileged && !isFull ? ["a *:* rwm"] : [],
  };
}

/** Daemons of the oldest API refuse to hear of these; so they are given only to who names them, not with "all". */
const younger = new Set(["CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE"]);

function isOffered(name: string, named: readonly string[]): boolean {
  return !younger.has(name) || named.some((word) => `CAP_${word.toUpperCase().replace(/^CAP_/, "")}` === name);
}

function securityOptions(
  security: LinuxContainerSecurityContext | undefined,
  isPrivileged: boolean,
  host: HostFacts,
): string[] {
  const options: string[] = [];
  if (security?.noNewPrivs) options.push("no-new-privileges");
  const seccomp = isPrivileged ? "unconfined" : seccompOf(security);
  if (seccomp !== undefined) options.push(`seccomp=${seccomp}`);
  const selinux = security?.selinuxOptions;
  if (selinux?.user) options.push(`label=user:${selinux.user}`);
  if (selinux?.role) options.push(`label=role:${selinux.role}`);
  if (selinux?.type) options.push(`label=type:${selinux.type}`);
  if (selinux?.level) options.push(`label=level:${selinux.level}`);
  const apparmor = appArmorOf(security, isPrivileged, host);
  if (apparmor !== undefined) options.push(`apparmor=${apparmor}`);
  return options;
}

/** Undefined for the daemon's default profile; nothing said is unconfined, as other runtimes have it. */
function seccompOf(security: LinuxContainerSecurityContext | undefined): string | undefined {
  const profile = security?.seccomp;
  if (!profile || profile.profileType === SecurityProfile_ProfileType.Unconfined) return "unconfined";
  if (profile.profileType === SecurityProfile_ProfileType.RuntimeDefault) return undefined;
  const path = profile.localhostRef;
  if (!path.startsWith("/"))
    throw new Fault("invalid", `Cannot use seccomp profile "${path}": its path is not absolute`);
  try {
    return JSON.stringify(JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    throw new Fault("invalid", `Cannot use seccomp profile "${path}": ${(cause as Error).message}`, { cause });
  }
}

function appArmorOf(
  security: LinuxContainerSecurityContext | undefined,
  isPrivileged: boolean,
  host: HostFacts,
): string | undefined {
  const profile = security?.apparmor;
  if (profile?.profileType === SecurityProfile_ProfileType.Localhost) {
    if (!host.hasAppArmor)
      throw new Fault(
        "unsupported",
        `Cannot use AppArmor profile "${profile.localhostRef}": this host has no AppArmor`,
      );
    return profile.localhostRef.replace(/^localhost\//, "");
  }
  const isUnconfined = isPrivileged || profile?.profileType === SecurityProfile_ProfileType.Unconfined;
  return isUnconfined && host.hasAppArmor ? "unconfined" : undefined;
}

/** `user`, `user:group`, or undefined for the image's own. */
export function userField(security: LinuxContainerSecurityContext | undefined): string | undefined {
  const user = security?.runAsUser ? String(security.runAsUser.value) : security?.runAsUsername || undefined;
  const group = security?.runAsGroup ? String(security.runAsGroup.value) : undefined;
  checkRunAs(security);
  return group === undefined ? user : `${user}:${group}`;
}
