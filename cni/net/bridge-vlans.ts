// VLANs of a bridge and its ports over rtnetlink: who belongs to which, and which one untagged frames are of.

import { AF_BRIDGE, header, IFLA, RTM_DELLINK, RTM_GETLINK, RTM_SETLINK } from "../../plugins/kit/os/net/links.ts";
import {
  attribute,
  eachAttribute,
  NLM_F_DUMP,
  type NetlinkSocket,
  readAttributes,
  u16,
  u32,
} from "../../plugins/kit/os/net/netlink.ts";

const IFLA_BRIDGE_FLAGS = 0;
const IFLA_BRIDGE_VLAN_INFO = 2;
const BRIDGE_FLAGS_SELF = 2;
const IFLA_EXT_MASK = 29;
const RTEXT_FILTER_BRVLAN = 2;
const vlanFlags = { untaggedIn: 2, untaggedOut: 4, rangeBegin: 8, rangeEnd: 16 };

export interface BridgeVlan {
  readonly id: number;
  /** Untagged frames belong to it, and its frames leave untagged. */
  readonly access: boolean;
  /** The last of a range that begins with `id`. */
  readonly last?: number;
  /** Of the bridge itself, and not of a port. */
  readonly self?: boolean;
}

function infoOf(id: number, flags: number): Buffer {
  const info = Buffer.alloc(4);
  info.writeUInt16LE(flags, 0);
  info.writeUInt16LE(id, 2);
  return attribute(IFLA_BRIDGE_VLAN_INFO, info);
}

function specOf({ id, last = id, access, self }: BridgeVlan): Buffer {
  const flags = access ? vlanFlags.untaggedIn | vlanFlags.untaggedOut : 0;
  const ids =
    last > id
      ? [infoOf(id, flags | vlanFlags.rangeBegin), infoOf(last, flags | vlanFlags.rangeEnd)]
      : [infoOf(id, flags)];
  return attribute(IFLA.afSpec, ...(self ? [attribute(IFLA_BRIDGE_FLAGS, u16(BRIDGE_FLAGS_SELF))] : []), ...ids);
}

/** Adds the VLANs to a bridge port, or to the bridge itself. Fault `unsupported` where the kernel filters no VLANs on bridges. */
export async function addBridgeVlan(socket: NetlinkSocket, index: number, vlan: BridgeVlan): Promise<void> {
  await socket.request({
    type: RTM_SETLINK,
    flags: 0,
    payload: Buffer.concat([header(index, 0, 0, AF_BRIDGE), specOf(vlan)]),
    doing: `Cannot add VLAN ${vlan.id} to link ${index}`,
  });
}

export async function deleteBridgeVlan(socket: NetlinkSocket, index: number, id: number): Promise<void> {
  await socket.request({
    type: RTM_DELLINK,
    flags: 0,
    payload: Buffer.concat([header(index, 0, 0, AF_BRIDGE), specOf({ id, access: false })]),
    doing: `Cannot remove VLAN ${id} from link ${index}`,
  });
}

/** The VLANs of one port, or of the bridge itself; none where the kernel filters no VLANs on bridges. */
export async function listBridgeVlans(socket: NetlinkSocket, index: number): Promise<BridgeVlan[]> {
  const messages = await socket.request({
    type: RTM_GETLINK,
    flags: NLM_F_DUMP,
    payload: Buffer.concat([header(0, 0, 0, AF_BRIDGE), attribute(IFLA_EXT_MASK, u32(RTEXT_FILTER_BRVLAN))]),
    doing: "Cannot list the VLANs of bridges",
  });
  const mine = messages.find(({ payload }) => payload.readInt32LE(4) === index);
  const spec = mine && readAttributes(mine.payload.subarray(16)).get(IFLA.afSpec);
  const vlans: BridgeVlan[] = [];
  for (const [type, value] of eachAttribute(spec ?? Buffer.alloc(0)))
    if (type === IFLA_BRIDGE_VLAN_INFO)
      vlans.push({ id: value.readUInt16LE(2), access: (value.readUInt16LE(0) & vlanFlags.untaggedIn) !== 0 });
  return vlans;
}
