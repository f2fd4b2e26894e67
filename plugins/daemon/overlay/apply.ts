// Brings routes, neighbours, forwarding entries and the tunnel device in step with a plan, comparing with what the kernel has, so
// that it repairs what others removed and never disturbs what is right. Only touches routes marked as ours and our own device.

import { createHash } from "node:crypto";
import { isFault } from "../../kit/base/fault.ts";
import {
  type Address,
  addressBits,
  contains,
  formatAddress,
  formatPrefix,
  isSameAddress,
  parsePrefix,
  type Prefix,
} from "../../kit/os/net/address.ts";
import { otherClaim } from "../../kit/os/net/claim.ts";
import {
  createVxlan,
  deleteLink,
  findLink,
  getLink,
  type Link,
  listLinks,
  openRoutes,
  setLink,
} from "../../kit/os/net/links.ts";
import type { NetlinkSocket } from "../../kit/os/net/netlink.ts";
import {
  addAddress,
  addRoute,
  deleteAddress,
  deleteNeighbour,
  deleteRoute,
  listAddresses,
  listNeighbours,
  listRoutes,
  type Neighbour,
  ownProtocol,
  type Route,
  setNeighbour,
} from "../../kit/os/net/routes.ts";
import { type OverlayPlan, tunnelOverhead } from "./plan.ts";

export interface OverlaySettings {
  readonly device: string;
  readonly vni: number;
  readonly port: number;
  /** The pods of all nodes: only routes into these are ours, whatever other agents of this host do. */
  readonly clusterCidrs: readonly string[];
}

/** Clusters on one wire have different networks by their pods' addresses, agents on one host different devices. */
export function overlayDefaults(instance: string, clusterCidrs: readonly string[]): OverlaySettings {
  const vni = 1 + (createHash("sha256").update(clusterCidrs.join()).digest().readUInt32BE(0) % 0xfffff);
  const device = instance === "" ? "skiff-vxlan" : `skvx-${instance.slice(0, 10)}`;
  return { device, vni, port: 8472, clusterCidrs };
}

/** The prefixes that this node is directly connected to: candidates for routes without a tunnel. */
export async function connectedPrefixes(routes: NetlinkSocket, device: string): Promise<Prefix[]> {
  const links = await listLinks(routes);
  const isUnderlay = (index: number) => {
    const link = links.find((link) => link.index === index);
    return link !== undefined && link.name !== "lo" && link.name !== device && link.kind !== "bridge" && link.isUp;
  };
  const addresses = await listAddresses(routes);
  return addresses
    .filter(
      ({ index, isLinkLocal, prefix }) =>
        isUnderlay(index) && !isLinkLocal && prefix.length < addressBits(prefix.address.family),
    )
    .map(({ prefix }) => prefix);
}

/**
 * The link that carries the address, and so the tunnel. A node without a network has only the loopback, which leads nowhere; and a tunnel
 * cannot carry itself, or its MTU would shrink with every look.
 */
async function underlay(routes: NetlinkSocket, local: Address, device: string): Promise<Link | undefined> {
  const owner = (await listAddresses(routes)).find(({ prefix }) => isSameAddress(prefix.address, local));
  const isCarrier = ({ index, name }: Link) => index === owner?.index && name !== "lo" && name !== device;
  return owner && (await listLinks(routes)).find(isCarrier);
}

/** Returns the largest packet that reaches the pods of all other nodes uncut; undefined while that is not known. */
export async function applyOverlay(plan: OverlayPlan, settings: OverlaySettings): Promise<number | undefined> {
  const routes = openRoutes();
  try {
    const carrier = plan.local && (await underlay(routes, plan.local, settings.device));
    const device = await ensureDevice(routes, plan, carrier, settings);
    if (device) await syncNeighbours(routes, plan, device);
    await syncRoutes(routes, plan, device, settings);
    return plan.routes.some(({ by }) => by === "vxlan") ? tunnelMtu(plan, carrier) : carrier?.mtu;
  } finally {
    routes.close();
  }
}

function tunnelMtu({ local }: OverlayPlan, carrier: Link | undefined): number {
  return (carrier?.mtu ?? 1500) - tunnelOverhead(local?.family ?? 4);
}

async function ensureDevice(
  routes: NetlinkSocket,
  plan: OverlayPlan,
  carrier: Link | undefined,
  settings: OverlaySettings,
): Promise<Link | undefined> {
  const { vxlan } = plan;
  if (!vxlan) {
    await deleteLink(routes, settings.device);
    return undefined;
  }
  const mtu = tunnelMtu(plan, carrier);
  let device = await findLink(routes, settings.device);
  // The local end of a tunnel cannot be changed: a node whose address changed makes a new one.
  const isRight =
    device?.kind === "vxlan" &&
    device.vxlan?.id === settings.vni &&
    device.vxlan.port === settings.port &&
    device.mac === vxlan.mac &&
    device.vxlan.local === formatAddress(vxlan.local);
  if (device && !isRight) await deleteLink(routes, settings.device);
  if (!isRight) {
    await createVxlan(routes, {
      name: settings.device,
      id: settings.vni,
      port: settings.port,
      local: vxlan.local,
      mac: vxlan.mac,
      mtu,
      ...(carrier ? { parent: carrier.index } : {}),
    });
    device = await getLink(routes, settings.device);
  }
  const link = device as Link;
  if (!link.isUp || link.mtu !== mtu) await setLink(routes, link.index, { up: true, mtu });
  const present = (await listAddresses(routes, link.index)).filter(({ isLinkLocal }) => !isLinkLocal);
  for (const address of vxlan.addresses)
    if (!present.some(({ prefix }) => isSameAddress(prefix.address, address)))
      await addAddress(routes, link.index, { address, length: addressBits(address.family) }, { skipDad: true });
  for (const { prefix } of present)
    if (!vxlan.addresses.some((address) => isSameAddress(address, prefix.address)))
      await deleteAddress(routes, link.index, prefix);
  return link;
}

async function syncNeighbours(routes: NetlinkSocket, plan: OverlayPlan, device: Link): Promise<void> {
  const wanted: Omit<Neighbour, "isPermanent">[] = [
    ...plan.neighbours.map((entry) => ({ ...entry, link: device.index, isForwarding: false })),
    ...plan.forwarding.map((entry) => ({ ...entry, link: device.index, isForwarding: true })),
  ];
  const present = (
    await Promise.all([listNeighbours(routes, 4), listNeighbours(routes, 6), listNeighbours(routes, "forwarding")])
  )
    .flat()
    .filter((entry) => entry.link === device.index && entry.isPermanent);
  const isSame = (left: Omit<Neighbour, "isPermanent">, right: Omit<Neighbour, "isPermanent">) =>
    left.isForwarding === right.isForwarding && left.mac === right.mac && isSameAddress(left.address, right.address);
  // Out before in: a forwarding entry has one far end per MAC.
  for (const entry of present) if (!wanted.some((other) => isSame(entry, other))) await deleteNeighbour(routes, entry);
  for (const entry of wanted) if (!present.some((other) => isSame(entry, other))) await setNeighbour(routes, entry);
}

async function ownRoutes(routes: NetlinkSocket, { clusterCidrs }: OverlaySettings): Promise<Route[]> {
  const cluster = clusterCidrs.map(parsePrefix);
  return [...(await listRoutes(routes, 4)), ...(await listRoutes(routes, 6))].filter(
    ({ protocol, destination }) =>
      protocol === ownProtocol && destination && cluster.some((cidr) => contains(cidr, destination.address)),
  );
}

async function syncRoutes(
  routes: NetlinkSocket,
  plan: OverlayPlan,
  device: Link | undefined,
  settings: OverlaySettings,
): Promise<void> {
  const present = await ownRoutes(routes, settings);
  const addresses = await listAddresses(routes);
  const linkOf = (gateway: Address) =>
    addresses.find(({ prefix, isLinkLocal }) => !isLinkLocal && contains(prefix, gateway))?.index;
  const wanted: Route[] = plan.routes.flatMap(({ destination, gateway, by }) => {
    const link = by === "vxlan" ? device?.index : linkOf(gateway);
    if (!link) return [];
    return {
      family: destination.address.family,
      destination,
      gateway,
      link,
      protocol: ownProtocol,
      ...(by === "vxlan" ? { onLink: true } : {}),
    };
  });
  const print = (route: Route) =>
    `${route.destination ? formatPrefix(route.destination) : "default"} ${route.gateway ? formatAddress(route.gateway) : ""} ${route.link}`;
  for (const route of present)
    if (!wanted.some((other) => print(other) === print(route))) await deleteRoute(routes, route);
  for (const route of wanted) {
    if (present.some((other) => print(other) === print(route))) continue;
    try {
      await addRoute(routes, route, { replace: true });
    } catch (error) {
      // A gateway that is unreachable at this moment is tried again with the next look.
      if (!isFault(error, "unavailable")) throw error;
    }
  }
}

/** Takes away the device and every route of ours. */
export async function removeOverlay(settings: OverlaySettings): Promise<void> {
  const routes = openRoutes();
  try {
    await deleteLink(routes, settings.device);
    // Another agent with the same networks, which this one made way for, keeps its routes.
    if (settings.clusterCidrs.some(otherClaim)) return;
    for (const route of await ownRoutes(routes, settings)) await deleteRoute(routes, route);
  } finally {
    routes.close();
  }
}
