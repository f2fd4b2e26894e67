// This machine's own addresses: what the user said, else those of the interface that the default route leaves by, else of the first that
// leads to other machines.

import { readFileSync } from "node:fs";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { type Link, listLinksNow } from "./links.ts";
import { clientLinkNames, uplinkNames } from "./uplinks.ts";

type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

export interface AddressSources {
  /** By name, with those that are up and have a carrier. */
  readonly interfaces: () => Interfaces;
  /** Not /sys/class/net: that shows another network namespace where the process was started in one. */
  readonly links: () => readonly Pick<Link, "index" | "name" | "kind" | "master" | "isLoopback">[];
  /** /proc/net/route. */
  readonly routes: () => string;
  /** /proc/net/ipv6_route. */
  readonly routes6?: () => string;
}

const hostAddressSources: AddressSources = {
  interfaces: () => networkInterfaces(),
  links: hostLinks,
  routes: () => readOrNothing("/proc/net/route"),
  routes6: () => readOrNothing("/proc/net/ipv6_route"),
};

let lastLinks: readonly Link[] = [];

/** On a host where links come and go without end a list may fail: the last one tells the uplinks as well. */
function hostLinks(): readonly Link[] {
  try {
    lastLinks = listLinksNow();
  } catch (error) {
    if (lastLinks.length === 0) throw error;
  }
  return lastLinks;
}

/** Those that the machine is known by, the first of them before all others; and every one that clients may reach it by. */
export function findAddresses(sources: AddressSources = hostAddressSources): {
  readonly own: readonly string[];
  readonly all: readonly string[];
} {
  // Every pod has a link in the lists: they are read once.
  const [interfaces, links] = [sources.interfaces(), sources.links()];
  const own = nodeAddresses([], { ...sources, interfaces: () => interfaces, links: () => links });
  const all = clientLinkNames(links).flatMap((name) => usable(interfaces[name]));
  return { own, all: [...new Set([...own, ...all.map(({ address }) => address)])] };
}

function usable(entries: readonly NetworkInterfaceInfo[] | undefined): NetworkInterfaceInfo[] {
  return (entries ?? []).filter(({ address, internal }) => !internal && !address.startsWith("fe80:"));
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // a kernel without that family
  }
}

/** The primary first; empty when the machine has none that leads to other machines. */
export function nodeAddresses(configured: readonly string[], sources: AddressSources = hostAddressSources): string[] {
  if (configured.length > 0) return [...configured];
  const interfaces = sources.interfaces();
  const byRoute = [defaultInterface(sources.routes()), defaultInterface6(sources.routes6?.() ?? "")];
  const names = [...byRoute.filter((name) => name !== undefined), ...uplinkNames(sources.links()).sort()];
  const own = names.map((name) => usable(interfaces[name])).find((entries) => entries.length > 0) ?? [];
  const v4 = own.filter(({ family }) => family === "IPv4").map(({ address }) => address);
  const v6 = own.filter(({ family }) => family === "IPv6").map(({ address }) => address);
  // One of each family: more would be guesses.
  return [...v4.slice(0, 1), ...v6.slice(0, 1)];
}

/** Without one the address is a guess, and nothing beyond the node's own networks can be reached. */
export function hasDefaultRoute(sources: Pick<AddressSources, "routes" | "routes6"> = hostAddressSources): boolean {
  return defaultInterface(sources.routes()) !== undefined || defaultInterface6(sources.routes6?.() ?? "") !== undefined;
}

function defaultInterface(routes: string): string | undefined {
  const lines = routes
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"))
    .filter(([name, destination, , , , , , mask]) => name && destination === "00000000" && mask === "00000000");
  return lines.sort((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}

function defaultInterface6(routes: string): string | undefined {
  const lines = routes
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    // The kernel's own entry for what cannot be reached is on lo.
    .filter(
      ([destination, length, ...rest]) => /^0{32}$/.test(destination ?? "") && length === "00" && rest.at(-1) !== "lo",
    );
  return lines.sort((a, b) => parseInt(a[5] ?? "", 16) - parseInt(b[5] ?? "", 16))[0]?.at(-1);
}
