// The extensions that certificates and signing requests carry: usages, key identifiers, constraints, alternative names.

import {
  boolean,
  context,
  type DerValue,
  expectTag,
  integer,
  octets,
  oid,
  readAll,
  readOid,
  sequence,
  tags,
  bits,
} from "./der.ts";
import { Fault } from "../../base/fault.ts";

export const extensionOids = {
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;

/** What a certificate may be used for, in the words of the certificates API. */
export type Usage = keyof typeof keyUsageBits | keyof typeof extendedUsageOids;

// Bit numbers of RFC 5280, 4.2.1.3.
const keyUsageBits = {
  "digital signature": 0,
  signing: 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
} as const;

const extendedUsageOids = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
} as const;

export function isUsage(text: string): text is Usage {
  return Object.hasOwn(keyUsageBits, text) || Object.hasOwn(extendedUsageOids, text);
}

export function extension(id: string, value: Uint8Array, criticality: "critical" | "plain" = "plain"): Buffer {
  return sequence(oid(id), ...(criticality === "critical" ? [boolean(true)] : []), octets(value));
}

/** The key usage and extended key usage extensions for the usages given. */
export function usageExtensions(usages: readonly Usage[]): Buffer[] {
  const unknown = usages.find((usage) => !isUsage(usage));
  if (unknown !== undefined) throw new Fault("invalid", `"${unknown}" is not a certificate usage`);
  const numbers = usages.flatMap((usage) =>
    usage in keyUsageBits ? [keyUsageBits[usage as keyof typeof keyUsageBits]] : [],
  );
  const extended = usages.flatMap((usage) =>
    usage in extendedUsageOids ? [extendedUsageOids[usage as keyof typeof extendedUsageOids]] : [],
  );
  return [
    ...(numbers.length > 0 ? [extension(extensionOids.keyUsage, namedBits(numbers), "critical")] : []),
    ...(extended.length > 0
      ? [extension(extensionOids.extendedKeyUsage, sequence(...[...new Set(extended)].map(oid)))]
      : []),
  ];
}

/** A named bit list: bit 0 is the highest of the first byte, trailing zero bits are left out. */
function namedBits(numbers: readonly number[]): Buffer {
  const highest = Math.max(...numbers);
  const bytes = Buffer.alloc(Math.floor(highest / 8) + 1);
  for (const number of numbers) {
    const at = Math.floor(number / 8);
    bytes[at] = (bytes[at] ?? 0) | (0x80 >> (number % 8));
  }
  return bits(bytes, 7 - (highest % 8));
}

/** Says whether the certificate is an authority, and how many authorities may stand below it. */
export function basicConstraints(isAuthority: boolean, pathLength?: number): Buffer {
  const parts = isAuthority
    ? [boolean(true), ...(pathLength === undefined ? [] : [integer(Uint8Array.of(pathLength))])]
    : [];
  return extension(extensionOids.basicConstraints, sequence(...parts), "critical");
}

export const authorityKeyId = (id: Uint8Array): Buffer =>
  extension(extensionOids.authorityKeyId, sequence(context(0, id, "primitive")));

/** Extension values by identifier, from an Extensions sequence. */
export function readExtensions(value: DerValue | undefined): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  if (!value) return found;
  for (const item of readAll(expectTag(value, tags.sequence).content)) {
    const [id, ...rest] = readAll(expectTag(item, tags.sequence).content);
    found.set(readOid(id), expectTag(rest.at(-1), tags.octetString).content);
  }
  return found;
}
