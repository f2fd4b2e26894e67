// Checks and completes the ranges of a host-local configuration: which addresses a range set may give out.

import {
  type Address,
  contains,
  firstAddress,
  formatAddress,
  isSameAddress,
  lastAddress,
  networkOf,
  offset,
  type Prefix,
  formatPrefix,
  tryAddress,
  tryPrefix,
  addressBits,
} from "../../plugins/kit/os/net/address.ts";
import { fieldOf } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";

export interface Range {
  readonly subnet: Prefix;
  readonly start: Address;
  readonly end: Address;
  readonly gateway: Address | undefined;
}

/** One address is given out of each set; its ranges are of one family and do not overlap. */
export type RangeSet = readonly Range[];

function bad(what: string): CniFault {
  return new CniFault(cniCode.invalidConfig, `Invalid host-local configuration: ${what}`);
}

/** Reads `ranges`, and the older single `subnet` beside it as the first set. */
export function parseRanges(ipam: Readonly<Record<string, unknown>>): RangeSet[] {
  const sets: RangeSet[] = [];
  if (ipam.subnet !== undefined) sets.push([parseRange(ipam)]);
  const ranges = ipam.ranges ?? [];
  if (!Array.isArray(ranges)) throw bad("ranges is not a list of lists");
  for (const set of ranges as unknown[]) {
    if (!Array.isArray(set) || set.length === 0) throw bad("each of ranges must be a list with at least one range");
    sets.push((set as unknown[]).map(parseRange));
  }
  if (sets.length === 0) throw bad("there are no ranges");
  checkOverlap(sets);
  return sets;
}

function parseRange(raw: unknown): Range {
  if (typeof raw !== "object" || raw === null) throw bad("a range is not an object");
  const [text, rangeStart, rangeEnd, gateway] = ["subnet", "rangeStart", "rangeEnd", "gateway"].map((name) =>
    fieldOf(raw as Record<string, unknown>, name),
  );
  const written = typeof text === "string" ? tryPrefix(text) : undefined;
  if (!written) throw bad(`subnet ${JSON.stringify(text)} is not a CIDR`);
  const subnet = networkOf(written);
  if (!isSameAddress(subnet.address, written.address))
    throw bad(`subnet ${String(text)} has host bits set: write ${formatPrefix(subnet)}`);
  if (addressBits(subnet.address.family) - subnet.length < 2)
    throw bad(`subnet ${String(text)} is too small: it has no room for a gateway and an address`);
  const within = (value: unknown, name: string): Address | undefined => {
    if (value === undefined || value === "") return undefined;
    const address = typeof value === "string" ? tryAddress(value) : undefined;
    if (!address || !contains(subnet, address)) throw bad(`${name} ${JSON.stringify(value)} is not in ${String(text)}`);
    return address;
  };
  // The network address is never given out, nor the last: in IPv4 it is the broadcast address.
  const lowest = offset(firstAddress(subnet), 1);
  const highest = offset(lastAddress(subnet), subnet.address.family === 4 ? -1 : 0);
  const start = within(rangeStart, "rangeStart") ?? lowest;
  const end = within(rangeEnd, "rangeEnd") ?? highest;
  if (start.value > end.value) throw bad(`rangeStart ${formatAddress(start)} is after rangeEnd ${formatAddress(end)}`);
  return {
    subnet,
    start: start.value < lowest.value ? lowest : start,
    end: end.value > highest.value ? highest : end,
    gateway: within(gateway, "gateway") ?? lowest,
  };
}

function checkOverlap(sets: readonly RangeSet[]): void {
  const all: Range[] = [];
  for (const set of sets) {
    for (const range of set) {
      if (range.subnet.address.family !== set[0]?.subnet.address.family)
        throw bad("a range set mixes IPv4 and IPv6: give each family its own set");
      const other = all.find(
        (other) =>
          other.subnet.address.family === range.subnet.address.family &&
          other.start.value <= range.end.value &&
          range.start.value <= other.end.value,
      );
      if (other)
        throw bad(
          `range ${formatAddress(range.start)}-${formatAddress(range.end)} overlaps ${formatAddress(other.start)}-${formatAddress(other.end)}`,
        );
      all.push(range);
    }
  }
}

export function rangeOf(set: RangeSet, address: Address): Range | undefined {
  return set.find(
    (range) =>
      range.subnet.address.family === address.family &&
      range.start.value <= address.value &&
      address.value <= range.end.value,
  );
}
