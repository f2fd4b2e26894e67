// A range of addresses (CIDR) as numbers, for both families.

import { isIP } from "node:net";
import { Fault } from "../../../plugins/kit/base/fault.ts";

export interface AddressRange {
  readonly family: "IPv4" | "IPv6";
  readonly cidr: string;
  /** How many addresses can be handed out, the first of the network (and v4's last) left out. */
  readonly size: number;
  /** The nth usable address, from 1. */
  at(index: number): string;
  /** Undefined when the address is not in the range. */
  indexOf(address: string): number | undefined;
}

const largest = 1 << 16;

/** One range, or two of different families with a comma between them. */
export function addressRanges(cidrs: string): AddressRange[] {
  const ranges = cidrs.split(",").map(addressRange);
  if (ranges.length > 2 || (ranges.length === 2 && ranges[0]?.family === ranges[1]?.family))
    throw new Fault(
      "invalid",
      `Cannot use ${JSON.stringify(cidrs)} for services: give one range of each family at most`,
    );
  return ranges;
}

export function addressRange(cidr: string): AddressRange {
  const [base = "", bitsText = ""] = cidr.split("/");
  const version = isIP(base);
  const width = version === 6 ? 128 : 32;
  const bits = Number(bitsText);
  if (version === 0 || !Number.isInteger(bits) || bits < 0 || bits > width)
    throw new Fault("invalid", `Cannot use ${JSON.stringify(cidr)} as a range of service addresses: not a CIDR`);
  const hostBits = BigInt(width - bits);
  const first = (toNumber(base) >> hostBits) << hostBits;
  const count = 1n << hostBits;
  const usable = version === 4 ? count - 2n : count - 1n;
  const size = Number(usable > BigInt(largest) && version === 6 ? BigInt(largest) : usable);
  return {
    family: version === 4 ? "IPv4" : "IPv6",
    cidr,
    size: Math.max(0, size),
    at: (index) => toText(first + BigInt(index), version),
    indexOf(address) {
      if (isIP(address) !== version) return undefined;
      const index = Number(toNumber(address) - first);
      return index >= 1 && index <= size ? index : undefined;
    },
  };
}

function toNumber(address: string): bigint {
  if (isIP(address) === 4) return address.split(".").reduce((sum, part) => (sum << 8n) + BigInt(part), 0n);
  const [head = "", tail] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array.from({ length: zeros }, () => "0"), ...right];
  return groups.reduce((sum, group) => (sum << 16n) + BigInt(Number.parseInt(group, 16)), 0n);
}

function toText(value: bigint, version: number): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(16 * (7 - index))) & 0xffffn).toString(16));
  const text = groups.join(":");
  const zeros = /(?:^|:)0(?::0)+(?::|$)/.exec(text);
  return zeros ? text.replace(zeros[0], "::") : text;
}
