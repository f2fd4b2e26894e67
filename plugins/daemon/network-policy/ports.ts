// The ports of a policy rule as nftables matches: numbers, ranges, and names that each pod resolves for itself. Pure.

import type { Pod } from "../../kit/kube/objects/types.ts";

export interface PolicyPort {
  readonly protocol?: string;
  readonly port?: number | string;
  readonly endPort?: number;
}

/** One match per protocol and per named port; a single empty one when every port is meant. */
export function portMatches(
  ports: readonly PolicyPort[],
  { family, targets }: { family: 4 | 6; targets: readonly Pod[] },
): string[] {
  if (ports.length === 0) return [""];
  const matches: string[] = [];
  const numbers = new Map<string, string[]>();
  const whole = new Set<string>();
  for (const { protocol = "TCP", port, endPort } of ports) {
    const lower = protocol.toLowerCase();
    if (port === undefined) whole.add(lower);
    else if (typeof port === "string" && !/^\d+$/.test(port)) matches.push(...namedPort(port, lower, family, targets));
    else
      numbers.set(lower, [
        ...(numbers.get(lower) ?? []),
        endPort && endPort > Number(port) ? `${port}-${endPort}` : String(port),
      ]);
  }
  for (const protocol of whole) matches.push(`meta l4proto ${protocol}`);
  for (const [protocol, list] of numbers)
    if (!whole.has(protocol)) matches.push(`meta l4proto ${protocol} th dport { ${mergeRanges(list).join(", ")} }`);
  return matches;
}

function namedPort(name: string, protocol: string, family: 4 | 6, targets: readonly Pod[]): string[] {
  const byPort = new Map<number, string[]>();
  for (const pod of targets) {
    const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
    for (const { containerPort, ...port } of containers.flatMap(({ ports }) => ports ?? [])) {
      if (port.name !== name || (port.protocol ?? "TCP").toLowerCase() !== protocol) continue;
      const ips = (pod.status?.podIPs ?? [])
        .map(({ ip }) => ip ?? "")
        .filter((ip) => ip !== "" && ip.includes(":") === (family === 6));
      byPort.set(containerPort, [...(byPort.get(containerPort) ?? []), ...ips]);
    }
  }
  const ip = family === 4 ? "ip" : "ip6";
  return [...byPort]
    .filter(([, ips]) => ips.length > 0)
    .map(([port, ips]) => `${ip} daddr { ${[...new Set(ips)].join(", ")} } meta l4proto ${protocol} th dport ${port}`);
}

/** Overlapping ranges joined: the kernel refuses overlaps in one set. */
function mergeRanges(list: readonly string[]): string[] {
  const ranges = list
    .map((text) => text.split("-").map(Number) as [number, number?])
    .map(([start, end = start]): [number, number] => [start, end])
    .sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [start, end] of ranges) {
    const last = merged.at(-1);
    if (last && start <= last[1] + 1) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged.map(([start, end]) => (start === end ? String(start) : `${start}-${end}`));
}
