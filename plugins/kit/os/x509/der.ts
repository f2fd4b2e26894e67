// ASN.1 in its DER form, as little of it as certificates need: values written to bytes, and bytes read back with every length checked.
// By hand because the certificate packages cost a quarter of a second and ten megabytes at every start.

import { Fault } from "../../base/fault.ts";

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function encode(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const length = content.length;
  if (length < 0x80) return Buffer.concat([Uint8Array.of(tag, length), content]);
  const hex = length.toString(16);
  const lengthBytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, "hex");
  return Buffer.concat([Uint8Array.of(tag, 0x80 | lengthBytes.length), lengthBytes, content]);
}

export const sequence = (...parts: Uint8Array[]): Buffer => encode(tags.sequence, ...parts);
export const set = (...parts: Uint8Array[]): Buffer => encode(tags.set, ...parts);
export const octets = (content: Uint8Array): Buffer => encode(tags.octetString, content);
export const boolean = (value: boolean): Buffer => encode(tags.boolean, Uint8Array.of(value ? 0xff : 0));
export const nothing = (): Buffer => encode(tags.null);
/** Context-specific `[n]`, constructed unless `primitive`. */
export const context = (n: number, content: Uint8Array, form: "constructed" | "primitive" = "constructed"): Buffer =>
  encode((form === "constructed" ? 0xa0 : 0x80) | n, content);

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const trimmed = bytes.subarray(start);
  const isHigh = ((trimmed[0] ?? 0) & 0x80) !== 0;
  return encode(tags.integer, ...(isHigh ? [Uint8Array.of(0)] : []), trimmed.length === 0 ? Uint8Array.of(0) : trimmed);
}

/** A bit string of whole bytes, or one whose last `unused` bits are padding. */
export const bits = (content: Uint8Array, unused = 0): Buffer => encode(tags.bitString, Uint8Array.of(unused), content);

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const groups = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) groups.unshift((left % 128) | 0x80);
    return groups;
  });
  return encode(tags.oid, Uint8Array.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280, 4.1.2.5). */
export function time(milliseconds: number): Buffer {
  const text = `${new Date(milliseconds).toISOString().replace(/[-:T]|\.\d+/g, "")}`;
  const year = Number(text.slice(0, 4));
  return year >= 1950 && year < 2050
    ? encode(tags.utcTime, Buffer.from(text.slice(2)))
    : encode(tags.generalizedTime, Buffer.from(text));
}

/** One value read from bytes: its tag, its content, and the whole of it as it stood. */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  readonly raw: Buffer;
}

const malformed = (what: string) => new Fault("invalid", `The encoding is damaged: ${what}`);

/** The values that stand one behind the other in the bytes. */
export function readAll(bytes: Uint8Array): DerValue[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: DerValue[] = [];
  let at = 0;
  while (at < buffer.length) {
    const tag = buffer[at] ?? 0;
    if ((tag & 0x1f) === 0x1f) throw malformed("a tag of several bytes");
    let length = buffer[at + 1];
    let start = at + 2;
    if (length === undefined) throw malformed("it ends within a header");
    if (length & 0x80) {
      const count = length & 0x7f;
      if (count === 0 || count > 4 || start + count > buffer.length) throw malformed("a length that cannot be");
      length = buffer.readUIntBE(start, count);
      start += count;
    }
    if (start + length > buffer.length) throw malformed("a value longer than its place");
    values.push({ tag, content: buffer.subarray(start, start + length), raw: buffer.subarray(at, start + length) });
    at = start + length;
  }
  return values;
}

/** The only value in the bytes, of the tag expected. */
export function readOne(bytes: Uint8Array, tag: number): DerValue {
  const values = readAll(bytes);
  return expectTag(values.length === 1 ? values[0] : undefined, tag);
}

export function expectTag(value: DerValue | undefined, tag: number): DerValue {
  if (value?.tag !== tag) throw malformed(`tag ${tag} expected, ${value ? `${value.tag} found` : "nothing found"}`);
  return value;
}

export function readOid(value: DerValue | undefined): string {
  const { content } = expectTag(value, tags.oid);
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f);
    if (arc > Number.MAX_SAFE_INTEGER / 128) throw malformed("an object identifier out of range");
    if (byte & 0x80) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [first = 0, ...rest] = arcs;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join(".");
}

/** The bytes of a bit string that has no padding. */
export function readBits(value: DerValue | undefined): Buffer {
  const { content } = expectTag(value, tags.bitString);
  if (content[0] !== 0) throw malformed("a bit string with padding");
  return content.subarray(1);
}

export function readTime(value: DerValue | undefined): number {
  const text = value?.content.toString("latin1") ?? "";
  const digits = value?.tag === tags.utcTime ? (Number(text.slice(0, 2)) < 50 ? `20${text}` : `19${text}`) : text;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits);
  if (!match) throw malformed("a time that cannot be read");
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

export function fromPem(pem: string, label: string): Buffer {
  const match = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----`).exec(pem);
  if (!match) throw new Fault("invalid", `There is no PEM block "${label}"`);
  return Buffer.from(match[1] ?? "", "base64");
}

export function toPem(der: Uint8Array, label: string): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
