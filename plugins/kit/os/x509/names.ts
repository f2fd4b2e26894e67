// Who a certificate speaks of: distinguished names (common name and organizations) and alternative names, to DER and back.

import { isIP } from "node:net";
import { Fault } from "../../base/fault.ts";
import {
  context,
  type DerValue,
  encode,
  expectTag,
  oid,
  readAll,
  readOid,
  readOne,
  sequence,
  set,
  tags,
} from "./der.ts";

export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

const commonNameOid = "2.5.4.3";
const organizationOid = "2.5.4.10";

export function encodeSubject({ commonName, organizations }: Subject): Buffer {
  const attribute = (type: string, value: string) =>
    set(sequence(oid(type), encode(tags.utf8String, Buffer.from(value))));
  return sequence(
    ...organizations.map((organization) => attribute(organizationOid, organization)),
    ...(commonName === "" ? [] : [attribute(commonNameOid, commonName)]),
  );
}

/** Reads a name; attributes other than the common name and organizations are named in `others` by their identifiers. */
export function readSubject(name: DerValue): Subject & { others: readonly string[] } {
  const attributes = readAll(expectTag(name, tags.sequence).content)
    .flatMap((relative) => readAll(expectTag(relative, tags.set).content))
    .map((attribute) => {
      const [type, value] = readAll(expectTag(attribute, tags.sequence).content);
      return { type: readOid(type), text: readText(value) };
    });
  const of = (type: string) => attributes.filter((attribute) => attribute.type === type).map(({ text }) => text);
  return {
    // The last one counts, as Go reads it.
    commonName: of(commonNameOid).at(-1) ?? "",
    organizations: of(organizationOid),
    others: attributes.map(({ type }) => type).filter((type) => type !== commonNameOid && type !== organizationOid),
  };
}

function readText(value: DerValue | undefined): string {
  if (!value) return "";
  // BMPString (30) is UTF-16 big-endian; the others that occur are UTF-8 or a subset of Latin 1.
  if (value.tag === 30) return Buffer.from(value.content).swap16().toString("utf16le");
  return value.content.toString(value.tag === tags.utf8String ? "utf8" : "latin1");
}

export function encodeAlternativeNames(names: Partial<AlternativeNames>): Buffer | undefined {
  const ascii = (n: number, values: readonly string[] = []) =>
    values.map((value) => {
      if (!/^[\x21-\x7e]+$/.test(value)) throw new Fault("invalid", `"${value}" cannot be an alternative name`);
      return context(n, Buffer.from(value), "primitive");
    });
  const parts = [
    ...ascii(1, names.emailAddresses),
    ...ascii(2, names.dnsNames),
    ...ascii(6, names.uris),
    ...(names.ipAddresses ?? []).map((address) => context(7, addressBytes(address), "primitive")),
  ];
  return parts.length === 0 ? undefined : sequence(...parts);
}

export function readAlternativeNames(der: Uint8Array): AlternativeNames {
  const values = readAll(readOne(der, tags.sequence).content);
  const of = (n: number) => values.filter(({ tag }) => tag === (0x80 | n)).map(({ content }) => content);
  const text = (n: number) => of(n).map((content) => content.toString("latin1"));
  return { emailAddresses: text(1), dnsNames: text(2), uris: text(6), ipAddresses: of(7).map(addressText) };
}

function addressBytes(address: string): Uint8Array {
  const family = isIP(address);
  if (family === 4) return Uint8Array.from(address.split(".").map(Number));
  if (family !== 6 || address.includes("%")) throw new Fault("invalid", `"${address}" is not an IP address`);
  // The URL parser writes the one short form, with all groups in hexadecimal.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string | undefined) => (text ? text.split(":") : []);
  const front = groups(head);
  const back = groups(tail);
  const middle = Array.from({ length: 8 - front.length - back.length }, () => "0");
  return Buffer.concat(
    [...front, ...(tail === undefined ? [] : middle), ...back].map((group) =>
      Buffer.from(group.padStart(4, "0"), "hex"),
    ),
  );
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join(".");
  if (bytes.length !== 16) throw new Fault("invalid", "An IP address in the alternative names is damaged");
  const groups = bytes.toString("hex").match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
