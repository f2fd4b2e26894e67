// What this node needs to reach the pods of the others, from Node objects alone: a route per pod CIDR, straight over the link where
// both share one, otherwise through the VXLAN device with a neighbour and a forwarding entry. Pure.

import { createHash } from "node:crypto";
import {
  type Address,
  contains,
  type Family,
  formatAddress,
  formatPrefix,
  networkOf,
  type Prefix,
  tryAddress,
  tryPrefix,
} from "../../kit/os/net/address.ts";
import type { Node } from "../../kit/kube/objects/types.ts";

export type OverlayMode = "auto" | "vxlan" | "host-gw";

export interface NodeSite {
  readonly name: string;
  /** Where other nodes reach it; the first is the tunnel's end. */
  readonly addresses: readonly Address[];
  readonly podCidrs: readonly Prefix[];
}

interface WantedRoute {
  readonly destination: Prefix;
  readonly gateway: Address;
  /** Over the tunnel or straight by the link that the gateway is on. */
  readonly by: "vxlan" | "link";
}

interface WantedNeighbour {
  readonly address: Address;
  readonly mac: string;
}

export interface OverlayPlan {
  /** This node's end of all ways; undefined while it has no address. */
  readonly local: Address | undefined;
  /** The tunnel device, or undefined while nothing needs it. */
  readonly vxlan: { readonly local: Address; readonly mac: string; readonly addresses: readonly Address[] } | undefined;
  readonly routes: readonly WantedRoute[];
  readonly neighbours: readonly WantedNeighbour[];
  readonly forwarding: readonly WantedNeighbour[];
}

/** Every node finds every other's tunnel address by itself: it follows from the name. */
export function tunnelMac(nodeName: string): string {
  const bytes = createHash("sha256").update(`skiff overlay ${nodeName}`).digest().subarray(0, 6);
  bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 2;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

export function siteOf(node: Node): NodeSite {
  const cidrs = node.spec?.podCIDRs?.length ? node.spec.podCIDRs : [node.spec?.podCIDR ?? ""];
  return {
    name: node.metadata.name ?? "",
    addresses: (node.status?.addresses ?? []).flatMap(({ type, address }) =>
      type === "InternalIP" ? (tryAddress(address) ?? []) : [],
    ),
    podCidrs: cidrs.flatMap((cidr) => {
      const prefix = tryPrefix(cidr);
      return prefix ? [networkOf(prefix)] : [];
    }),
  };
}

export function planOverlay(
  sites: readonly NodeSite[],
  selfName: string,
  mode: OverlayMode,
  connected: readonly Prefix[],
): OverlayPlan {
  const nothing: OverlayPlan = { local: undefined, vxlan: undefined, routes: [], neighbours: [], forwarding: [] };
  const self = sites.find(({ name }) => name === selfName);
  const local = self?.addresses[0];
  if (!self || !local) return nothing;
  const routes: WantedRoute[] = [];
  const neighbours: WantedNeighbour[] = [];
  const forwarding: WantedNeighbour[] = [];
  // Sorted, so that two nodes with one CIDR by mistake always give the same picture.
  for (const site of [...sites].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (site.name === selfName) continue;
    const mac = tunnelMac(site.name);
    const far = site.addresses.find(({ family }) => family === local.family);
    let isTunnelled = false;
    for (const destination of site.podCidrs) {
      if (routes.some((route) => formatPrefix(route.destination) === formatPrefix(destination))) continue;
      const near = directGateway(site, destination.address.family, mode, connected);
      if (near) routes.push({ destination, gateway: near, by: "link" });
      else if (far && mode !== "host-gw") {
        isTunnelled = true;
        routes.push({ destination, gateway: destination.address, by: "vxlan" });
        neighbours.push({ address: destination.address, mac });
      }
    }
    if (isTunnelled && far) forwarding.push({ address: far, mac });
  }
  const vxlan =
    mode === "host-gw"
      ? undefined
      : { local, mac: tunnelMac(selfName), addresses: self.podCidrs.map(({ address }) => address) };
  return { local, vxlan, routes, neighbours, forwarding };
}

function directGateway(
  site: NodeSite,
  family: Family,
  mode: OverlayMode,
  connected: readonly Prefix[],
): Address | undefined {
  if (mode === "vxlan") return undefined;
  return site.addresses.find(
    (address) => address.family === family && connected.some((prefix) => contains(prefix, address)),
  );
}

/** The bytes that a tunnel adds to each packet. */
export function tunnelOverhead(family: Family): number {
  return family === 4 ? 50 : 70;
}

export function describePlan(plan: OverlayPlan): string {
  const routes = plan.routes.map(
    ({ destination, gateway, by }) => `${formatPrefix(destination)} via ${formatAddress(gateway)} (${by})`,
  );
  return routes.join(", ");
}
