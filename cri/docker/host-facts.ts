// What this host lets containers have, learned once. The daemon's own limits are those of the host's first process, which started it.

import { readFileSync } from "node:fs";
import { allCapabilities, hostCapabilities } from "../api/capabilities.ts";
import type { HostFacts } from "./docker.ts";

export function learnHost(securityOptions: readonly string[]): HostFacts {
  const capabilities = hostCapabilities(readFileSync("/proc/1/status", "utf8"));
  const lastCapability = Number(readFileSync("/proc/sys/kernel/cap_last_cap", "utf8"));
  const known = allCapabilities.filter((_, number) => number <= lastCapability);
  return {
    capabilities,
    hasAllCapabilities: known.every((name) => capabilities.includes(name)),
    // Lowering a score below one's own takes CAP_SYS_RESOURCE.
    lowestOomScoreAdj: capabilities.includes("CAP_SYS_RESOURCE") ? -1000 : 0,
    hasAppArmor: securityOptions.some((option) => option.startsWith("name=apparmor")),
  };
}
