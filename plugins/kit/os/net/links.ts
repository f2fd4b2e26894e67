// Links over rtnetlink: veth pairs, bridges, VLAN and VXLAN devices, their flags and bridge ports.

import { Fault, isFault } from "../../base/fault.ts";
import { type Address, addressBytes, addressFromBytes, formatAddress } from "./address.ts";
import {
  attribute,
  NLM_F_CREATE,
  NLM_F_DUMP,
  NLM_F_EXCL,
  type NetlinkMessage,
  NetlinkSocket,
  readAttributes,
  readText,
  text,
  u8,
  u16,
  u16be,
  u32,
} from "./netlink.ts";

const NETLINK_ROUTE = 0;
const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
export const RTM_GETLINK = 18;
export const RTM_SETLINK = 19;
export const IFLA = {
  address: 1,
  name: 3,
  mtu: 4,
  link: 5,
  master: 10,
  protInfo: 12,
  info: 18,
  afSpec: 26,
  netnsFd: 28,
  promiscuity: 30,
};
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const VETH_INFO_PEER = 1;
export const AF_BRIDGE = 7;
const IFF_UP = 1;
const IFF_LOOPBACK = 8;
const IFF_RUNNING = 0x40;
const IFF_PROMISC = 0x100;

export interface Link {
  readonly index: number;
  readonly name: string;
  /** `veth`, `bridge`, `vxlan` …; empty for hardware. */
  readonly kind: string;
  readonly mac: string;
  readonly mtu: number;
  readonly isLoopback: boolean;
  readonly isUp: boolean;
  /** Up, with a carrier that the kernel has taken note of: a port of a bridge forwards from then on. */
  readonly isRunning: boolean;
  readonly isPromiscuous: boolean;
  /** The index of the bridge it is a port of, or 0. */
  readonly master: number;
  /** The index of the other end or lower device, or 0. */
  readonly parent: number;
  readonly vxlan?: { readonly id: number; readonly port: number; readonly local: string };
}

/** A socket for links, addresses, routes and neighbours of the namespace the thread is in now. */
export function openRoutes(): NetlinkSocket {
  return new NetlinkSocket(NETLINK_ROUTE);
}

export function macBytes(mac: string): Buffer {
  if (!/^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$/.test(mac)) throw new Fault("invalid", `"${mac}" is not a MAC address`);
  return Buffer.from(mac.replaceAll(":", ""), "hex");
}

export function formatMac(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

/** A random locally administered unicast address. Need only be rare, not secret, so the cheap generator does. */
export function randomMac(): string {
  const bytes = Uint8Array.from({ length: 6 }, () => Math.floor(Math.random() * 256));
  bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 2;
  return formatMac(bytes);
}

export function header(index = 0, flags = 0, change = 0, family = 0): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt8(family, 0);
  bytes.writeInt32LE(index, 4);
  bytes.writeUInt32LE(flags, 8);
  bytes.writeUInt32LE(change, 12);
  return bytes;
}

function readLink(message: NetlinkMessage): Link {
  const attributes = readAttributes(message.payload.subarray(16));
  const info = readAttributes(attributes.get(IFLA.info) ?? Buffer.alloc(0));
  const kind = readText(info.get(IFLA_INFO_KIND));
  const flags = message.payload.readUInt32LE(8);
  const data = readAttributes(info.get(IFLA_INFO_DATA) ?? Buffer.alloc(0));
  return {
    index: message.payload.readInt32LE(4),
    name: readText(attributes.get(IFLA.name)),
    kind,
    mac: formatMac(attributes.get(IFLA.address) ?? Buffer.alloc(0)),
    mtu: attributes.get(IFLA.mtu)?.readUInt32LE(0) ?? 0,
    isLoopback: (flags & IFF_LOOPBACK) !== 0,
    isUp: (flags & IFF_UP) !== 0,
    isRunning: (flags & IFF_RUNNING) !== 0,
    isPromiscuous: (flags & IFF_PROMISC) !== 0 || (attributes.get(IFLA.promiscuity)?.readUInt32LE(0) ?? 0) > 0,
    master: attributes.get(IFLA.master)?.readUInt32LE(0) ?? 0,
    parent: attributes.get(IFLA.link)?.readUInt32LE(0) ?? 0,
    ...(kind === "vxlan" ? { vxlan: readVxlan(data) } : {}),
  };
}

function readVxlan(data: Map<number, Buffer>): NonNullable<Link["vxlan"]> {
  const local = data.get(4) ?? data.get(17);
  return {
    id: data.get(1)?.readUInt32LE(0) ?? 0,
    port: data.get(15)?.readUInt16BE(0) ?? 0,
    local: local ? formatAddress(addressFromBytes(local)) : "",
  };
}

export async function findLink(socket: NetlinkSocket, name: string): Promise<Link | undefined> {
  try {
    const payload = Buffer.concat([header(), attribute(IFLA.name, text(name))]);
    const [found] = await socket.request({
      type: RTM_GETLINK,
      flags: 0,
      payload,
      doing: `Cannot look up link "${name}"`,
    });
    return found && readLink(found);
  } catch (error) {
    if (isFault(error, "not-found")) return undefined;
    throw error;
  }
}

export async function getLink(socket: NetlinkSocket, name: string): Promise<Link> {
  const link = await findLink(socket, name);
  if (!link) throw new Fault("not-found", `There is no link "${name}"`);
  return link;
}

const allLinks = { type: RTM_GETLINK, flags: NLM_F_DUMP, payload: header(), doing: "Cannot list links" };

export async function listLinks(socket: NetlinkSocket): Promise<Link[]> {
  return (await socket.request(allLinks)).map(readLink);
}

/** The links of the network namespace that the thread is in, at once. */
export function listLinksNow(): Link[] {
  const socket = openRoutes();
  try {
    return socket.requestNow(allLinks).map(readLink);
  } finally {
    socket.close();
  }
}

async function create(
  socket: NetlinkSocket,
  name: string,
  kind: string,
  extra: Buffer[],
  data: Buffer[],
): Promise<void> {
  const info = [attribute(IFLA_INFO_KIND, text(kind))];
  if (data.length > 0) info.push(attribute(IFLA_INFO_DATA, ...data));
  const payload = Buffer.concat([header(), attribute(IFLA.name, text(name)), ...extra, attribute(IFLA.info, ...info)]);
  await socket.request({
    type: RTM_NEWLINK,
    flags: NLM_F_CREATE | NLM_F_EXCL,
    payload,
    doing: `Cannot make ${kind} link "${name}"`,
    slow: true,
  });
}

export interface VethOptions {
  readonly name: string;
  /** The peer is made inside the namespace behind this descriptor from the first moment. */
  readonly peer: { readonly name: string; readonly netnsFd: number; readonly mac?: string };
  readonly mtu?: number;
  /** Makes the near end a port of this bridge at once. */
  readonly master?: number;
}

export async function createVeth(socket: NetlinkSocket, options: VethOptions): Promise<void> {
  const mtu = options.mtu ? [attribute(IFLA.mtu, u32(options.mtu))] : [];
  const peer = Buffer.concat([
    header(),
    attribute(IFLA.name, text(options.peer.name)),
    attribute(IFLA.netnsFd, u32(options.peer.netnsFd)),
    ...(options.peer.mac ? [attribute(IFLA.address, macBytes(options.peer.mac))] : []),
    ...mtu,
  ]);
  const master = options.master ? [attribute(IFLA.master, u32(options.master))] : [];
  await create(socket, options.name, "veth", [...mtu, ...master], [attribute(VETH_INFO_PEER, peer)]);
}

export async function createBridge(
  socket: NetlinkSocket,
  options: { name: string; mtu?: number; mac?: string; vlanFiltering?: boolean },
): Promise<void> {
  const IFLA_BR_VLAN_FILTERING = 7;
  await create(
    socket,
    options.name,
    "bridge",
    [
      ...(options.mtu ? [attribute(IFLA.mtu, u32(options.mtu))] : []),
      ...(options.mac ? [attribute(IFLA.address, macBytes(options.mac))] : []),
    ],
    options.vlanFiltering ? [attribute(IFLA_BR_VLAN_FILTERING, u8(1))] : [],
  );
}

export async function createVlan(
  socket: NetlinkSocket,
  options: { name: string; parent: number; vlan: number },
): Promise<void> {
  await create(
    socket,
    options.name,
    "vlan",
    [attribute(IFLA.link, u32(options.parent))],
    [attribute(1, u16(options.vlan))],
  );
}

export interface VxlanOptions {
  readonly name: string;
  readonly id: number;
  readonly port: number;
  readonly local: Address;
  readonly parent?: number;
  readonly mac?: string;
  readonly mtu?: number;
}

/** A VXLAN device without learning: its forwarding table is what the caller writes. */
export async function createVxlan(socket: NetlinkSocket, options: VxlanOptions): Promise<void> {
  const data = [
    attribute(1, u32(options.id)),
    attribute(options.local.family === 4 ? 4 : 17, addressBytes(options.local)),
    attribute(7, u8(0)),
    attribute(15, u16be(options.port)),
  ];
  if (options.parent) data.push(attribute(3, u32(options.parent)));
  const extra = [];
  if (options.mac) extra.push(attribute(IFLA.address, macBytes(options.mac)));
  if (options.mtu) extra.push(attribute(IFLA.mtu, u32(options.mtu)));
  await create(socket, options.name, "vxlan", extra, data);
}

export interface LinkChange {
  readonly up?: boolean;
  readonly promiscuous?: boolean;
  readonly mtu?: number;
  readonly mac?: string;
  readonly master?: number;
  readonly name?: string;
  readonly netnsFd?: number;
}

export async function setLink(socket: NetlinkSocket, index: number, change: LinkChange): Promise<void> {
  let flags = 0;
  let mask = 0;
  if (change.up !== undefined) {
    mask |= IFF_UP;
    if (change.up) flags |= IFF_UP;
  }
  if (change.promiscuous !== undefined) {
    mask |= IFF_PROMISC;
    if (change.promiscuous) flags |= IFF_PROMISC;
  }
  const attributes = [
    ...(change.mtu === undefined ? [] : [attribute(IFLA.mtu, u32(change.mtu))]),
    ...(change.mac === undefined ? [] : [attribute(IFLA.address, macBytes(change.mac))]),
    ...(change.master === undefined ? [] : [attribute(IFLA.master, u32(change.master))]),
    ...(change.name === undefined ? [] : [attribute(IFLA.name, text(change.name))]),
    ...(change.netnsFd === undefined ? [] : [attribute(IFLA.netnsFd, u32(change.netnsFd))]),
  ];
  await socket.request({
    type: RTM_NEWLINK,
    flags: 0,
    payload: Buffer.concat([header(index, flags, mask), ...attributes]),
    doing: `Cannot change link ${index}`,
    slow: change.up !== undefined || change.netnsFd !== undefined,
  });
}

/** Removing what is not there is fine. */
export async function deleteLink(socket: NetlinkSocket, name: string): Promise<void> {
  try {
    await socket.request({
      type: RTM_DELLINK,
      flags: 0,
      payload: Buffer.concat([header(), attribute(IFLA.name, text(name))]),
      doing: `Cannot remove link "${name}"`,
      slow: true,
    });
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
  }
}

export async function setBridgePort(
  socket: NetlinkSocket,
  index: number,
  flags: { hairpin?: boolean; isolated?: boolean; learning?: boolean },
): Promise<void> {
  const inner = [
    ...(flags.hairpin === undefined ? [] : [attribute(4, u8(flags.hairpin ? 1 : 0))]),
    ...(flags.learning === undefined ? [] : [attribute(8, u8(flags.learning ? 1 : 0))]),
    ...(flags.isolated === undefined ? [] : [attribute(33, u8(flags.isolated ? 1 : 0))]),
  ];
  const NLA_F_NESTED = 0x8000;
  await socket.request({
    type: RTM_SETLINK,
    flags: 0,
    payload: Buffer.concat([header(index, 0, 0, AF_BRIDGE), attribute(IFLA.protInfo | NLA_F_NESTED, ...inner)]),
    doing: `Cannot set bridge port flags of link ${index}`,
  });
}
