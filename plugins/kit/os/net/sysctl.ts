// Kernel network settings of the namespace that the thread is in. Synchronous on purpose: another thread may be elsewhere.

import { readFileSync, writeFileSync } from "node:fs";

function pathOf(name: string): string {
  return `/proc/sys/net/${name}`;
}

/** The setting, or undefined where this kernel has none. `name` has slashes: `ipv4/conf/eth0.7/forwarding`. */
export function readNetSetting(name: string): string | undefined {
  try {
    return readFileSync(pathOf(name), "utf8").trim();
  } catch {
    return undefined;
  }
}

/** True when the setting has the value now; false where the kernel has no such setting or /proc/sys is read-only. */
export function writeNetSetting(name: string, value: string): boolean {
  if (readNetSetting(name) === value) return true;
  try {
    writeFileSync(pathOf(name), value);
    return true;
  } catch {
    return false;
  }
}
