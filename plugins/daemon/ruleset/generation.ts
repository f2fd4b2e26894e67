// The number that the kernel counts up with every change of any nftables rule in this namespace: a cheap way to learn that
// somebody did something, before looking at what.

import { NetlinkSocket, readAttributes } from "../../kit/os/net/netlink.ts";

const NETLINK_NETFILTER = 12;
const NFT_MSG_GETGEN = (10 << 8) | 16;

export class RuleGeneration {
  readonly #socket = new NetlinkSocket(NETLINK_NETFILTER);

  async read(): Promise<number> {
    const [answer] = await this.#socket.request({
      type: NFT_MSG_GETGEN,
      flags: 0,
      payload: Buffer.alloc(4),
      doing: "Cannot read the generation of nftables",
    });
    return answer ? (readAttributes(answer.payload.subarray(4)).get(1)?.readUInt32BE(0) ?? 0) : 0;
  }

  close(): void {
    this.#socket.close();
  }
}
