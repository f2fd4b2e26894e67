// AppArmor as the containers of this host have it: which profiles the kernel knows, and a default one of our own, given to the kernel
// when the runtime opens. A host without AppArmor has none of it.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../../plugins/kit/base/log.ts";

export interface AppArmor {
  /** What a container gets that asks for nothing else; absent where the kernel could not be given one. */
  readonly defaultProfile?: string;
  /** Asked each time: an administrator may load one at any moment. */
  isLoaded(profile: string): boolean;
}

export interface AppArmorOptions {
  readonly log: Log;
  /** The host's root folder. */
  readonly root?: string;
  /** The program that gives a profile to the kernel. */
  readonly parser?: string;
}

const defaultProfileName = "skiff-default";

/** Everything that a container's namespaces, capabilities and masked paths already allow, but for the doors to the host that they leave ajar. */
export const defaultProfile = `profile ${defaultProfileName} flags=(attach_disconnected,mediate_deleted) {
  file,
  network,
  capability,
  umount,
  signal (receive),
  signal (send) peer=${defaultProfileName},
  ptrace peer=${defaultProfileName},
  deny mount,
  deny /proc/{sysrq-trigger,kcore,kmem,mem} rwklx,
  deny /proc/sys/kernel/{core_pattern,modprobe,hotplug} w,
  deny /sys/{firmware,kernel/security,kernel/debug}/** rwklx,
  deny /sys/devices/virtual/powercap/** rwklx,
}
`;

/**
 * Undefined where the host has no AppArmor. Gives the kernel our profile at each start, since what it has may be an earlier version's;
 * containers that run are confined by the new one at once.
 */
export function learnAppArmor({ log, root = "/", parser = "apparmor_parser" }: AppArmorOptions): AppArmor | undefined {
  if (!textOf(join(root, "sys/module/apparmor/parameters/enabled")).startsWith("Y")) return undefined;
  const isLoaded = (profile: string) => isKnown(profile, root);
  try {
    tellKernel(parser, "--replace");
  } catch (reason) {
    const error = (reason as Error).message;
    if (!isLoaded(defaultProfileName)) {
      log.warn({ error }, "containers have no AppArmor profile unless they name one");
      return { isLoaded };
    }
    log.warn({ error }, `the AppArmor profile ${defaultProfileName} stays as it was loaded earlier`);
  }
  return { defaultProfile: defaultProfileName, isLoaded };
}

/**
 * Takes our profile from the kernel again; nothing where it is not there. What it confines would go on unconfined: to be called when no
 * container is left, of no instance.
 */
export function forgetAppArmor({ log, root = "/", parser = "apparmor_parser" }: AppArmorOptions): void {
  if (!isKnown(defaultProfileName, root)) return;
  try {
    tellKernel(parser, "--remove");
  } catch (error) {
    log.warn(
      { error: (error as Error).message },
      `the AppArmor profile ${defaultProfileName} stays until the next boot`,
    );
  }
}

function tellKernel(parser: string, how: "--replace" | "--remove"): void {
  execFileSync(parser, ["--skip-cache", how], { input: defaultProfile, stdio: ["pipe", "ignore", "pipe"] });
}

function isKnown(profile: string, root: string): boolean {
  return textOf(join(root, "sys/kernel/security/apparmor/profiles"))
    .split("\n")
    .some((line) => line.startsWith(`${profile} (`));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Neither the module nor its file system is there.
    return "";
  }
}
