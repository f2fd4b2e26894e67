// Turns on forwarding between links, and keeps the host's own IPv6 alive while doing so: a host that forwards ignores router
// advertisements, and with them its default route, unless each link is told to take them all the same.

import { readdirSync } from "node:fs";
import type { Family } from "./address.ts";
import { readNetSetting, writeNetSetting } from "./sysctl.ts";

const settings: Record<Family, string> = { 4: "ipv4/ip_forward", 6: "ipv6/conf/all/forwarding" };

/** In the namespace that the thread is in. True when forwarding is on now. */
export function enableForwarding(family: Family): boolean {
  if (readNetSetting(settings[family]) === "1") return true;
  if (family === 6) keepRouterAdvertisements();
  return writeNetSetting(settings[family], "1");
}

function keepRouterAdvertisements(): void {
  let links: string[];
  try {
    links = readdirSync("/proc/sys/net/ipv6/conf");
  } catch {
    // No IPv6 in this kernel.
    return;
  }
  for (const link of links) {
    const name = `ipv6/conf/${link}/accept_ra`;
    if (link !== "all" && link !== "default" && readNetSetting(name) === "1") writeNetSetting(name, "2");
  }
}
