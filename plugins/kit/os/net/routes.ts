// Addresses, routes, neighbours and bridge forwarding entries over rtnetlink.

import { isFault } from "../../base/fault.ts";
import {
  type Address,
  addressBytes,
  addressFromBytes,
  type Family,
  firstAddress,
  formatAddress,
  formatPrefix,
  lastAddress,
  type Prefix,
} from "./address.ts";
import { formatMac, macBytes } from "./links.ts";
import {
  attribute,
  NLM_F_APPEND,
  NLM_F_CREATE,
  NLM_F_DUMP,
  NLM_F_EXCL,
  NLM_F_REPLACE,
  type NetlinkSocket,
  readAttributes,
  u32,
} from "./netlink.ts";

const RTM = {
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
  newRoute: 24,
  deleteRoute: 25,
  getRoute: 26,
  newNeighbour: 28,
  deleteNeighbour: 29,
  getNeighbour: 30,
};
const families: Record<Family, number> = { 4: 2, 6: 10 };
const IFA_F_NODAD = 2;
const IFA_F_DADFAILED = 8;
const IFA_F_TENTATIVE = 0x40;

export interface InterfaceAddress {
  readonly index: number;
  readonly prefix: Prefix;
  readonly isTentative: boolean;
  readonly hasFailedDad: boolean;
  readonly isLinkLocal: boolean;
}

function addressHeader(family: number, index: number, length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(family, 0);
  bytes.writeUInt8(length, 1);
  bytes.writeUInt32LE(index, 4);
  return bytes;
}

/** Adding an address that is there already is fine. */
export async function addAddress(
  socket: NetlinkSocket,
  index: number,
  prefix: Prefix,
  options: { skipDad?: boolean } = {},
): Promise<void> {
  const { family } = prefix.address;
  const bytes = addressBytes(prefix.address);
  const attributes = [attribute(2, bytes), attribute(1, bytes)];
  if (family === 4 && prefix.length < 31) attributes.push(attribute(4, addressBytes(lastAddress(prefix))));
  if (family === 6 && options.skipDad) attributes.push(attribute(8, u32(IFA_F_NODAD)));
  await tolerating("already-exists", () =>
    socket.request({
      type: RTM.newAddress,
      flags: NLM_F_CREATE | NLM_F_EXCL,
      payload: Buffer.concat([addressHeader(families[family], index, prefix.length), ...attributes]),
      doing: `Cannot add address ${formatPrefix(prefix)} to link ${index}`,
    }),
  );
}

export async function deleteAddress(socket: NetlinkSocket, index: number, prefix: Prefix): Promise<void> {
  await tolerating("not-found", () =>
    socket.request({
      type: RTM.deleteAddress,
      flags: 0,
      payload: Buffer.concat([
        addressHeader(families[prefix.address.family], index, prefix.length),
        attribute(2, addressBytes(prefix.address)),
      ]),
      doing: `Cannot remove address ${formatPrefix(prefix)} from link ${index}`,
    }),
  );
}

export async function listAddresses(socket: NetlinkSocket, index?: number): Promise<InterfaceAddress[]> {
  const found = await socket.request({
    type: RTM.getAddress,
    flags: NLM_F_DUMP,
    payload: addressHeader(0, index ?? 0, 0),
    strict: index !== undefined,
    doing: "Cannot list addresses",
  });
  return found
    .map(({ payload }) => {
      const attributes = readAttributes(payload.subarray(8));
      const bytes = attributes.get(2) ?? attributes.get(1) ?? Buffer.alloc(4);
      const flags = attributes.get(8)?.readUInt32LE(0) ?? payload.readUInt8(2);
      return {
        index: payload.readUInt32LE(4),
        prefix: { address: addressFromBytes(bytes), length: payload.readUInt8(1) },
        isTentative: (flags & IFA_F_TENTATIVE) !== 0,
        hasFailedDad: (flags & IFA_F_DADFAILED) !== 0,
        isLinkLocal: payload.readUInt8(3) === 253,
      };
    })
    .filter((address) => index === undefined || address.index === index);
}

export interface Route {
  /** Absent for the default route of the family. */
  readonly destination?: Prefix;
  readonly family: Family;
  readonly gateway?: Address;
  readonly link?: number;
  readonly source?: Address;
  readonly metric?: number;
  readonly mtu?: number;
  readonly advertisedMss?: number;
  readonly table?: number;
  /** 253 link, 0 universe; by default link when there is no gateway. */
  readonly scope?: number;
  /** Who made it; ours are 83, so that they are found again. */
  readonly protocol?: number;
  /** Takes the gateway as reachable over the link although no route says so. */
  readonly onLink?: boolean;
}

export const ownProtocol = 83;
const mainTable = 254;

function routePayload(route: Route, isDelete = false): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt8(families[route.family], 0);
  header.writeUInt8(route.destination?.length ?? 0, 1);
  header.writeUInt8(Math.min(route.table ?? mainTable, 252 + 2), 4);
  header.writeUInt8(route.protocol ?? (isDelete ? 0 : 4), 5);
  const linkScope = route.gateway || route.family === 6 ? 0 : 253;
  header.writeUInt8(route.scope ?? (isDelete ? 255 : linkScope), 6);
  header.writeUInt8(isDelete ? 0 : 1, 7);
  header.writeUInt32LE(route.onLink ? 4 : 0, 8);
  const metrics = [
    ...(route.mtu ? [attribute(2, u32(route.mtu))] : []),
    ...(route.advertisedMss ? [attribute(8, u32(route.advertisedMss))] : []),
  ];
  return Buffer.concat([
    header,
    ...(route.destination ? [attribute(1, addressBytes(firstAddress(route.destination)))] : []),
    ...(route.link ? [attribute(4, u32(route.link))] : []),
    ...(route.gateway ? [attribute(5, addressBytes(route.gateway))] : []),
    ...(route.metric ? [attribute(6, u32(route.metric))] : []),
    ...(route.source ? [attribute(7, addressBytes(route.source))] : []),
    ...(route.table ? [attribute(15, u32(route.table))] : []),
    ...(metrics.length > 0 ? [attribute(8, ...metrics)] : []),
  ]);
}

function describeRoute(route: Route): string {
  const to = route.destination ? formatPrefix(route.destination) : "default";
  return route.gateway ? `${to} via ${formatAddress(route.gateway)}` : to;
}

/** `replace` takes the place of another route to the same destination; otherwise that is `already-exists`. */
export async function addRoute(
  socket: NetlinkSocket,
  route: Route,
  options: { replace?: boolean } = {},
): Promise<void> {
  await socket.request({
    type: RTM.newRoute,
    flags: NLM_F_CREATE | (options.replace ? NLM_F_REPLACE : NLM_F_EXCL),
    payload: routePayload(route),
    doing: `Cannot add route ${describeRoute(route)}`,
  });
}

export async function deleteRoute(socket: NetlinkSocket, route: Route): Promise<void> {
  await tolerating("not-found", () =>
    socket.request({
      type: RTM.deleteRoute,
      flags: 0,
      payload: routePayload(route, true),
      doing: `Cannot remove route ${describeRoute(route)}`,
    }),
  );
}

/** Unicast routes of the main table, or of the table given. */
export async function listRoutes(socket: NetlinkSocket, family: Family, table = mainTable): Promise<Route[]> {
  const payload = Buffer.alloc(12);
  payload.writeUInt8(families[family], 0);
  const found = await socket.request({ type: RTM.getRoute, flags: NLM_F_DUMP, payload, doing: "Cannot list routes" });
  const routes: Route[] = [];
  for (const { payload } of found) {
    const attributes = readAttributes(payload.subarray(12));
    if ((attributes.get(15)?.readUInt32LE(0) ?? payload.readUInt8(4)) !== table || payload.readUInt8(7) !== 1) continue;
    const destination = attributes.get(1);
    const gateway = attributes.get(5);
    const source = attributes.get(7);
    const metrics = readAttributes(attributes.get(8) ?? Buffer.alloc(0));
    routes.push({
      family,
      protocol: payload.readUInt8(5),
      scope: payload.readUInt8(6),
      ...(destination ? { destination: { address: addressFromBytes(destination), length: payload.readUInt8(1) } } : {}),
      ...(gateway ? { gateway: addressFromBytes(gateway) } : {}),
      ...(source ? { source: addressFromBytes(source) } : {}),
      link: attributes.get(4)?.readUInt32LE(0) ?? 0,
      metric: attributes.get(6)?.readUInt32LE(0) ?? 0,
      mtu: metrics.get(2)?.readUInt32LE(0) ?? 0,
    });
  }
  return routes;
}

export interface Neighbour {
  readonly link: number;
  /** The layer 3 address of a neighbour, or the far tunnel end of a forwarding entry. */
  readonly address: Address;
  readonly mac: string;
  /** A forwarding entry of the device itself (VXLAN), not a neighbour. */
  readonly isForwarding: boolean;
  readonly isPermanent: boolean;
}

function neighbourPayload(entry: Omit<Neighbour, "isPermanent">): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt8(entry.isForwarding ? 7 : families[entry.address.family], 0);
  header.writeInt32LE(entry.link, 4);
  header.writeUInt16LE(entry.isForwarding ? 0x80 | 0x40 : 0x80, 8);
  header.writeUInt8(entry.isForwarding ? 2 : 0, 10);
  return Buffer.concat([
    header,
    attribute(1, addressBytes(entry.address)),
    ...(entry.mac ? [attribute(2, macBytes(entry.mac))] : []),
  ]);
}

/** Makes a permanent entry, in place of another one of the same key. */
export async function setNeighbour(socket: NetlinkSocket, entry: Omit<Neighbour, "isPermanent">): Promise<void> {
  const isFlood = entry.isForwarding && entry.mac === "00:00:00:00:00:00";
  await socket.request({
    type: RTM.newNeighbour,
    flags: NLM_F_CREATE | (isFlood ? NLM_F_APPEND : NLM_F_REPLACE),
    payload: neighbourPayload(entry),
    doing: `Cannot set neighbour ${formatAddress(entry.address)} on link ${entry.link}`,
  });
}

export async function deleteNeighbour(socket: NetlinkSocket, entry: Omit<Neighbour, "isPermanent">): Promise<void> {
  await tolerating("not-found", () =>
    socket.request({
      type: RTM.deleteNeighbour,
      flags: 0,
      payload: neighbourPayload(entry),
      doing: `Cannot remove neighbour ${formatAddress(entry.address)} from link ${entry.link}`,
    }),
  );
}

/** Neighbours of a family, or with "forwarding" the entries of bridges and tunnels that name a far end. */
export async function listNeighbours(socket: NetlinkSocket, of: Family | "forwarding"): Promise<Neighbour[]> {
  const payload = Buffer.alloc(12);
  payload.writeUInt8(of === "forwarding" ? 7 : families[of], 0);
  const found = await socket.request({
    type: RTM.getNeighbour,
    flags: NLM_F_DUMP,
    payload,
    doing: "Cannot list neighbours",
  });
  return found.flatMap(({ payload }) => {
    const attributes = readAttributes(payload.subarray(12));
    const address = attributes.get(1);
    if (!address) return [];
    return {
      link: payload.readInt32LE(4),
      address: addressFromBytes(address),
      mac: formatMac(attributes.get(2) ?? Buffer.alloc(0)),
      isForwarding: of === "forwarding",
      isPermanent: (payload.readUInt16LE(8) & 0x80) !== 0,
    };
  });
}

async function tolerating(code: "already-exists" | "not-found", work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isFault(error, code)) throw error;
  }
}
