// This machine's own addresses: what the user said, else those of the interface that the default route leaves by.

import { readFileSync } from "node:fs";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";

type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

export interface AddressSources {
  readonly interfaces: () => Interfaces;
  /** /proc/net/route. */
  readonly routes: () => string;
  /** /proc/net/ipv6_route. */
  readonly routes6?: () => string;
}

const hostAddressSources: AddressSources = {
  interfaces: () => networkInterfaces(),
  routes: () => readOrNothing("/proc/net/route"),
  routes6: () => readOrNothing("/proc/net/ipv6_route"),
};

/** Those that the machine is known by, the first of them before all others; and every one that others may reach it by. */
export function findAddresses(): { readonly own: readonly string[]; readonly all: readonly string[] } {
  // Every pod has an interface in the list: it is read once.
  const interfaces = networkInterfaces();
  const own = nodeAddresses([], { ...hostAddressSources, interfaces: () => interfaces });
  return { own, all: reachableAddresses(interfaces) };
}

/** Of pods and of software that runs them: nobody comes in by those. */
const ofPods = /^(lo|docker|veth|cni|skiff|flannel|kube|vxlan)/;

/** Every address that others may reach this machine by. */
export function reachableAddresses(interfaces: Interfaces): string[] {
  return Object.entries(interfaces)
    .filter(([name]) => !ofPods.test(name))
    .flatMap(([, entries]) => entries ?? [])
    .filter(({ address, internal }) => !internal && !address.startsWith("fe80:"))
    .map(({ address }) => address);
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // a kernel without that family
  }
}

/** Ours and other software's bridges and tunnels are no way to reach the node. */
const virtual = /^(lo|docker|br-|veth|cni|skiff|flannel|kube|vxlan|virbr|tun|tap)/;

/** The primary first; empty when the machine has none but loopback. */
export function nodeAddresses(configured: readonly string[], sources: AddressSources = hostAddressSources): string[] {
  if (configured.length > 0) return [...configured];
  const interfaces = sources.interfaces();
  const byDefaultRoute = defaultInterface(sources.routes());
  const names = Object.keys(interfaces).filter((name) => !virtual.test(name));
  const chosen = byDefaultRoute && interfaces[byDefaultRoute] ? byDefaultRoute : names.sort()[0];
  const own = (chosen ? interfaces[chosen] : undefined) ?? [];
  const usable = own.filter(({ address, internal }) => !internal && !address.startsWith("fe80:"));
  const v4 = usable.filter(({ family }) => family === "IPv4").map(({ address }) => address);
  const v6 = usable.filter(({ family }) => family === "IPv6").map(({ address }) => address);
  // One of each family: more would be guesses.
  return [...v4.slice(0, 1), ...v6.slice(0, 1)];
}

/** Without one the address is a guess, and nothing beyond the node's own networks can be reached. */
export function hasDefaultRoute(sources: Pick<AddressSources, "routes" | "routes6"> = hostAddressSources): boolean {
  return (
    defaultInterface(sources.routes()) !== undefined || /^0{32} 00 .* (?!lo$)\S+$/m.test(sources.routes6?.() ?? "")
  );
}

function defaultInterface(routes: string): string | undefined {
  const lines = routes
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"))
    .filter(([name, destination, , , , , , mask]) => name && destination === "00000000" && mask === "00000000");
  return lines.sort((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}
