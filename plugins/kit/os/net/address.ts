// IP addresses and prefixes as numbers: parse, print, compare, count. Strict: no leading zeros, no zone, no octal.

import { Fault } from "../../base/fault.ts";

export type Family = 4 | 6;

export interface Address {
  readonly family: Family;
  readonly value: bigint;
}

/** A prefix; `address` keeps the host bits that were written. */
export interface Prefix {
  readonly address: Address;
  readonly length: number;
}

export function addressBits(family: Family): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** The address, or undefined when the text is none. */
export function tryAddress(text: string): Address | undefined {
  const value = text.includes(":") ? parseSix(text) : parseFour(text);
  if (value === undefined) return undefined;
  return { family: text.includes(":") ? 6 : 4, value };
}

export function parseAddress(text: string): Address {
  const address = tryAddress(text);
  if (!address) throw new Fault("invalid", `"${text}" is not an IP address`);
  return address;
}

function parseFour(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = value * 256n + BigInt(part);
  }
  return value;
}

function parseSix(text: string): bigint | undefined {
  let rest = text;
  const dot = rest.lastIndexOf(".");
  if (dot >= 0) {
    const colon = rest.lastIndexOf(":");
    const four = parseFour(rest.slice(colon + 1));
    if (four === undefined) return undefined;
    rest = `${rest.slice(0, colon + 1)}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  }
  const halves = rest.split("::");
  if (halves.length > 2) return undefined;
  const head = halves[0] === "" ? [] : (halves[0] ?? "").split(":");
  const tail = halves.length < 2 || halves[1] === "" ? [] : (halves[1] ?? "").split(":");
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<string>(halves.length === 2 ? missing : 0).fill("0"), ...tail];
  let value = 0n;
  for (const group of groups) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined;
    value = (value << 16n) | BigInt(`0x${group}`);
  }
  return value;
}

export function formatAddress(address: Address): string {
  const { value } = address;
  if (address.family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  if (value >> 32n === 0xffffn) return `::ffff:${formatAddress({ family: 4, value: value & 0xffffffffn })}`;
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - 16 * index)) & 0xffffn);
  const run = longestZeroRun(groups);
  if (run.length < 2) return groups.map((group) => group.toString(16)).join(":");
  const text = (part: bigint[]) => part.map((group) => group.toString(16)).join(":");
  return `${text(groups.slice(0, run.start))}::${text(groups.slice(run.start + run.length))}`;
}

function longestZeroRun(groups: readonly bigint[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  groups.forEach((group, index) => {
    if (group !== 0n) start = index + 1;
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start };
  });
  return best;
}

/** Network byte order, 4 or 16 bytes. */
export function addressBytes(address: Address): Uint8Array {
  const size = addressBits(address.family) / 8;
  const bytes = new Uint8Array(size);
  let rest = address.value;
  for (let index = size - 1; index >= 0; index--, rest >>= 8n) bytes[index] = Number(rest & 255n);
  return bytes;
}

export function addressFromBytes(bytes: Uint8Array): Address {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return { family: bytes.length === 4 ? 4 : 6, value };
}

export function tryPrefix(text: string): Prefix | undefined {
  const slash = text.indexOf("/");
  const address = tryAddress(slash < 0 ? "" : text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (!address || !/^(0|[1-9][0-9]{0,2})$/.test(length) || Number(length) > addressBits(address.family))
    return undefined;
  return { address, length: Number(length) };
}

export function parsePrefix(text: string): Prefix {
  const prefix = tryPrefix(text);
  if (!prefix) throw new Fault("invalid", `"${text}" is not a CIDR such as 10.42.0.0/24`);
  return prefix;
}

export function formatPrefix(prefix: Prefix): string {
  return `${formatAddress(prefix.address)}/${prefix.length}`;
}

function hostMask(prefix: Prefix): bigint {
  return (1n << BigInt(addressBits(prefix.address.family) - prefix.length)) - 1n;
}

/** The prefix of one address alone. */
export function hostCidr(address: string): string {
  const parsed = parseAddress(address);
  return formatPrefix({ address: parsed, length: addressBits(parsed.family) });
}

/** The prefix with its host bits cleared. */
export function networkOf(prefix: Prefix): Prefix {
  const { family, value } = prefix.address;
  return { address: { family, value: value & ~hostMask(prefix) }, length: prefix.length };
}

export function firstAddress(prefix: Prefix): Address {
  return networkOf(prefix).address;
}

export function lastAddress(prefix: Prefix): Address {
  const { family, value } = prefix.address;
  return { family, value: value | hostMask(prefix) };
}

export function contains(prefix: Prefix, address: Address): boolean {
  if (prefix.address.family !== address.family) return false;
  const mask = hostMask(prefix);
  return (prefix.address.value | mask) === (address.value | mask);
}

export function overlaps(left: Prefix, right: Prefix): boolean {
  return contains(left, firstAddress(right)) || contains(right, firstAddress(left));
}

export function offset(address: Address, by: bigint | number): Address {
  return { family: address.family, value: address.value + BigInt(by) };
}

export function isSameAddress(left: Address, right: Address): boolean {
  return left.family === right.family && left.value === right.value;
}

/** The name whose PTR record speaks of the address. */
export function reverseName(address: Address): string {
  if (address.family === 4) return `${formatAddress(address).split(".").reverse().join(".")}.in-addr.arpa`;
  return `${address.value.toString(16).padStart(32, "0").split("").reverse().join(".")}.ip6.arpa`;
}
