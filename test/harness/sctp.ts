// SCTP without a kernel that speaks it: packets made by hand and sent as raw IP. Address translation and connection tracking look at
// nothing else, so that what a kernel does with a real association can be seen here too.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { inNetns } from "../../plugins/kit/os/net/netns.ts";
import { until } from "./until.ts";

const kinds = { INIT: 1, "INIT ACK": 2, "COOKIE ECHO": 10, "COOKIE ACK": 11 } as const;

interface SctpPacket {
  readonly kind: keyof typeof kinds;
  readonly from: number;
  readonly to: number;
  /** The tag that the receiver chose; 0 in an INIT. */
  readonly tag: number;
  /** The tag that the sender chooses; only in INIT and INIT ACK. */
  readonly ownTag?: number;
}

/** One end of raw SCTP in a namespace. It hears only packets from the address that it speaks to. */
export interface SctpEnd {
  send(packet: SctpPacket): void;
  /** All that came, with whether their checksums are right. */
  readonly heard: readonly (SctpPacket & { readonly isWhole: boolean })[];
  next(kind: SctpPacket["kind"]): Promise<SctpPacket & { readonly isWhole: boolean }>;
}

export function newTag(): number {
  return randomBytes(4).readUInt32BE() || 1;
}

/** With a peer, speaks to it; without one, only hears whatever comes. */
export async function sctpIn(
  t: { teardown(work: () => void): void },
  netns: string,
  peer: string | undefined,
): Promise<SctpEnd> {
  const args = peer ? ["-", `IP4-SENDTO:${peer}:132`] : ["-u", "IP4-RECV:132", "-"];
  const child: ChildProcessWithoutNullStreams = inNetns(netns, () => spawn("socat", ["-d", "-d", ...args]));
  t.teardown(() => void child.kill("SIGKILL"));
  child.stdin.on("error", () => {});
  const heard: (SctpPacket & { isWhole: boolean })[] = [];
  child.stdout.on("data", (bytes: Buffer) => {
    const packet = decode(bytes);
    if (packet) heard.push(packet);
  });
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += text.toString();
  });
  await until("socat to be there", () => said.includes("starting data transfer loop") || /N starting/.test(said));
  return {
    heard,
    send: (packet) => void child.stdin.write(encode(packet)),
    next: (kind) => until(`an SCTP ${kind}`, () => heard.find((packet) => packet.kind === kind)),
  };
}

function encode({ kind, from, to, tag, ownTag }: SctpPacket): Buffer {
  const body = Buffer.alloc(kind === "INIT" || kind === "INIT ACK" ? 20 : 4);
  body.writeUInt8(kinds[kind]);
  body.writeUInt16BE(body.length, 2);
  if (body.length > 4) {
    body.writeUInt32BE(ownTag ?? 0, 4);
    body.writeUInt32BE(65_536, 8);
    body.writeUInt16BE(1, 12);
    body.writeUInt16BE(1, 14);
    body.writeUInt32BE(1, 16);
  }
  const head = Buffer.alloc(12);
  head.writeUInt16BE(from);
  head.writeUInt16BE(to, 2);
  head.writeUInt32BE(tag, 4);
  const packet = Buffer.concat([head, body]);
  packet.writeUInt32LE(crc32c(packet), 8);
  return packet;
}

function decode(bytes: Buffer): (SctpPacket & { isWhole: boolean }) | undefined {
  if (bytes.length < 16) return undefined;
  const kind = (Object.keys(kinds) as SctpPacket["kind"][]).find((name) => kinds[name] === bytes[12]);
  if (!kind) return undefined;
  const bare = Buffer.from(bytes);
  bare.writeUInt32LE(0, 8);
  return {
    kind,
    from: bytes.readUInt16BE(),
    to: bytes.readUInt16BE(2),
    tag: bytes.readUInt32BE(4),
    ...(bytes.length >= 20 ? { ownTag: bytes.readUInt32BE(16) } : {}),
    isWhole: crc32c(bare) === bytes.readUInt32LE(8),
  };
}

/** RFC 9260, appendix A. */
function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
