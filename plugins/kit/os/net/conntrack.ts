// Forgets connections that the kernel still sends to an endpoint that is gone. TCP notices by itself; UDP and SCTP flows would go on
// for as long as the client keeps talking.

import { isFault } from "../../base/fault.ts";
import { type Address, addressFromBytes } from "./address.ts";
import { attribute, NLM_F_DUMP, NetlinkSocket, readAttributes } from "./netlink.ts";

const NETLINK_NETFILTER = 12;
const CT_GET = (1 << 8) | 1;
const CT_DELETE = (1 << 8) | 2;
const NLA_F_NESTED = 0x8000;

interface Tuple {
  readonly protocol: number;
  readonly source: Address;
  readonly destination: Address;
  readonly sourcePort: number;
  readonly destinationPort: number;
}

export interface Connection {
  readonly original: Tuple;
  readonly reply: Tuple;
}

/** Removes the connections that `isStale` picks; the number removed. Works on the namespace that the thread is in when called. */
export async function dropConnections(family: 4 | 6, isStale: (connection: Connection) => boolean): Promise<number> {
  const socket = new NetlinkSocket(NETLINK_NETFILTER);
  try {
    const header = Buffer.from([family === 4 ? 2 : 10, 0, 0, 0]);
    const found = await socket.request({
      type: CT_GET,
      flags: NLM_F_DUMP,
      payload: header,
      doing: "Cannot list tracked connections",
      slow: true,
    });
    let dropped = 0;
    for (const { payload } of found) {
      const attributes = readAttributes(payload.subarray(4));
      const original = attributes.get(1);
      const reply = attributes.get(2);
      if (!original || !reply) continue;
      if (!isStale({ original: readTuple(original), reply: readTuple(reply) })) continue;
      const zone = attributes.get(18);
      try {
        await socket.request({
          type: CT_DELETE,
          flags: 0,
          payload: Buffer.concat([
            header,
            attribute(1 | NLA_F_NESTED, original),
            ...(zone ? [attribute(18, zone)] : []),
          ]),
          doing: "Cannot drop a tracked connection",
        });
        dropped++;
      } catch (error) {
        // It ended by itself between the list and now.
        if (!isFault(error, "not-found")) throw error;
      }
    }
    return dropped;
  } finally {
    socket.close();
  }
}

function readTuple(bytes: Buffer): Tuple {
  const parts = readAttributes(bytes);
  const ip = readAttributes(parts.get(1) ?? Buffer.alloc(0));
  const proto = readAttributes(parts.get(2) ?? Buffer.alloc(0));
  return {
    protocol: proto.get(1)?.readUInt8(0) ?? 0,
    source: addressFromBytes(ip.get(1) ?? ip.get(3) ?? Buffer.alloc(4)),
    destination: addressFromBytes(ip.get(2) ?? ip.get(4) ?? Buffer.alloc(4)),
    sourcePort: proto.get(2)?.readUInt16BE(0) ?? 0,
    destinationPort: proto.get(3)?.readUInt16BE(0) ?? 0,
  };
}
