// D-Bus messages: what is called, answered or told, and the frame around it.

import { Fault } from "../../base/fault.ts";
import { marshal } from "./marshal.ts";
import { unmarshal } from "./unmarshal.ts";
import { type DbusValue, mostMessageBytes, Variant } from "./values.ts";

type MessageKind = "call" | "reply" | "error" | "signal";

export interface DbusMessage {
  readonly kind: MessageKind;
  readonly serial: number;
  /** The sender of a call does not want to hear what became of it. */
  readonly wantsNoReply?: boolean;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

const kinds: readonly (MessageKind | undefined)[] = [undefined, "call", "reply", "error", "signal"];
const version = 1;
const noReply = 1;
const fixedBytes = 12;
const smallestBytes = 16;

/** Header fields by their numbers, with their types. */
const fields = [
  [1, "path", "o"],
  [2, "interface", "s"],
  [3, "member", "s"],
  [4, "errorName", "s"],
  [5, "replySerial", "u"],
  [6, "destination", "s"],
  [7, "sender", "s"],
  [8, "signature", "g"],
] as const;

export function encodeMessage(message: DbusMessage): Buffer {
  const body = message.signature ? marshal(message.signature, message.body ?? []) : Buffer.alloc(0);
  const told = fields.flatMap(([code, name, type]) => {
    const value = message[name];
    return value === undefined || value === "" ? [] : [[code, new Variant(type, value)]];
  });
  const flags = message.wantsNoReply ? noReply : 0;
  const start = [0x6c, kinds.indexOf(message.kind), flags, version, body.length, message.serial];
  const header = marshal("yyyyuua(yv)", [...start, told]);
  const padding = Buffer.alloc((8 - (header.length % 8)) % 8);
  return Buffer.concat([header, padding, body]);
}

/** How long the message is that begins with these bytes; undefined while too few are there to tell. Fault `invalid` where none begins. */
export function messageLength(bytes: Uint8Array): number | undefined {
  if (bytes.length < smallestBytes) return undefined;
  const isLittle = endianOf(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = smallestBytes + view.getUint32(fixedBytes, isLittle);
  const length = headerBytes + ((8 - (headerBytes % 8)) % 8) + view.getUint32(4, isLittle);
  if (length > mostMessageBytes) throw new Fault("invalid", `Cannot read a D-Bus message: it has ${length} bytes`);
  return length;
}

/** Of a whole message. One of a kind that is not known is undefined: the specification has it ignored. */
export function decodeMessage(bytes: Uint8Array): DbusMessage | undefined {
  const isLittle = endianOf(bytes);
  const { values, end } = unmarshal("yyyyuua(yv)", bytes, isLittle);
  const [, type, flags, , , serial, list] = values as [number, number, number, number, number, number, DbusValue[]];
  const kind = kinds[type];
  if (!kind) return undefined;
  const known = new Map((list as [number, Variant][]).map(([code, { value }]) => [code, value]));
  const header = Object.fromEntries(
    fields.flatMap(([code, name, wanted]) => {
      const value = known.get(code);
      if (value === undefined) return [];
      if (typeof value !== (wanted === "u" ? "number" : "string"))
        throw new Fault("invalid", `Cannot read a D-Bus message: its ${name} is of another type`);
      return [[name, value]];
    }),
  ) as Partial<DbusMessage>;
  const bodyAt = end + ((8 - (end % 8)) % 8);
  const body = unmarshal(header.signature ?? "", bytes.subarray(bodyAt), isLittle).values;
  return { kind, serial, wantsNoReply: (flags & noReply) !== 0, ...header, body };
}

function endianOf(bytes: Uint8Array): boolean {
  if (bytes[0] === 0x6c) return true;
  if (bytes[0] === 0x42) return false;
  throw new Fault("invalid", "Cannot read a D-Bus message: it does not begin as one");
}
