// Host ports as nftables maps: one table for all networks, one map lookup per packet however many ports there are. Pure.

import { formatAddress, formatPrefix, networkOf, type Prefix } from "../../plugins/kit/os/net/address.ts";
import type { PortMapping } from "./mappings.ts";

export const hostPortTable = "inet skiff_hostports";
export const hostPortSets = ["any4", "any6", "host4", "host6", "hairpin4", "hairpin6"] as const;

/** Makes the table and its chains right; harmless when they are. */
export function tableScript(): string {
  const t = hostPortTable;
  const lines = [`add table ${t}`];
  for (const f of [4, 6] as const) {
    lines.push(
      `add map ${t} any${f} { type inet_proto . inet_service : ipv${f}_addr . inet_service; }`,
      `add map ${t} host${f} { type ipv${f}_addr . inet_proto . inet_service : ipv${f}_addr . inet_service; }`,
      `add set ${t} hairpin${f} { type ipv${f}_addr . ipv${f}_addr; flags interval; }`,
    );
  }
  lines.push(
    `add chain ${t} hostports`,
    `add chain ${t} prerouting { type nat hook prerouting priority dstnat; }`,
    `add chain ${t} output { type nat hook output priority -100; }`,
    `add chain ${t} postrouting { type nat hook postrouting priority srcnat; }`,
    ...["hostports", "prerouting", "output", "postrouting"].map((chain) => `flush chain ${t} ${chain}`),
    `add rule ${t} prerouting fib daddr type local jump hostports`,
    `add rule ${t} output fib daddr type local jump hostports`,
  );
  const ports = "meta l4proto { tcp, udp, sctp }";
  lines.push(
    `add rule ${t} hostports meta nfproto ipv4 ${ports} dnat ip to ip daddr . meta l4proto . th dport map @host4`,
    `add rule ${t} hostports meta nfproto ipv4 ${ports} dnat ip to meta l4proto . th dport map @any4`,
    `add rule ${t} hostports meta nfproto ipv6 ${ports} dnat ip6 to ip6 daddr . meta l4proto . th dport map @host6`,
    `add rule ${t} hostports meta nfproto ipv6 ip6 daddr != ::1 ${ports} dnat ip6 to meta l4proto . th dport map @any6`,
    `add rule ${t} postrouting ct status dnat ip saddr 127.0.0.0/8 oifname != "lo" masquerade`,
    `add rule ${t} postrouting ct status dnat ip saddr . ip daddr @hairpin4 masquerade`,
    `add rule ${t} postrouting ct status dnat ip6 saddr . ip6 daddr @hairpin6 masquerade`,
  );
  return lines.join("\n");
}

export interface PortElement {
  readonly set: (typeof hostPortSets)[number];
  readonly key: string;
  /** Absent for elements of a set. */
  readonly target?: string;
}

/** What one attachment needs in the maps: a target per mapping and family, and its own subnet for hairpins. */
export function portElements(
  mappings: readonly PortMapping[],
  ips: readonly Prefix[],
  hairpin: boolean,
): PortElement[] {
  const elements: PortElement[] = [];
  for (const family of [4, 6] as const) {
    // The first address of a family is the pod's.
    const ip = ips.find(({ address }) => address.family === family);
    const own = mappings.filter(({ hostIp }) => !hostIp || hostIp.family === family);
    if (!ip || own.length === 0) continue;
    const pod = formatAddress(ip.address);
    for (const { hostIp, protocol, hostPort, containerPort } of own) {
      const set = `${hostIp ? "host" : "any"}${family}` as PortElement["set"];
      elements.push({
        set,
        key: `${hostIp ? `${formatAddress(hostIp)} . ` : ""}${protocol} . ${hostPort}`,
        target: `${pod} . ${containerPort}`,
      });
    }
    if (hairpin) elements.push({ set: `hairpin${family}`, key: `${formatPrefix(networkOf(ip))} . ${pod}` });
  }
  return elements;
}

export function addElement(element: PortElement, comment: string): string {
  const target = element.target ? ` : ${element.target}` : "";
  return `add element ${hostPortTable} ${element.set} { ${element.key} comment "${comment}"${target} }`;
}

export function deleteElement(element: { set: string; key: string }): string {
  return `delete element ${hostPortTable} ${element.set} { ${element.key} }`;
}
