// IP addresses and ranges in fields, with upstream's sentences for what is wrong with them.

import { BlockList, isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { type FieldErrors, invalid } from "../machinery/field-error.ts";

const validIp = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

export function validateIp(address: string | undefined, field: string): FieldErrors {
  return isIP(address ?? "") === 0 || address?.includes("%") ? [invalid(field, address ?? "", validIp)] : [];
}

export function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  const family = isIP(address);
  return (
    family !== 0 && rest.length === 0 && /^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  );
}

/** Both are well-formed. */
export function isStrictlyInside(inner: string, outer: string): boolean {
  const [address = "", bits] = inner.split("/");
  const [around = "", aroundBits] = outer.split("/");
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  if (isIP(address) !== isIP(around) || Number(aroundBits) >= Number(bits)) return false;
  const list = new BlockList();
  list.addSubnet(around, Number(aroundBits), family);
  return list.check(address, family);
}

export function validateCidr(text: string | undefined, field: string): FieldErrors {
  return isCidr(text ?? "")
    ? []
    : [invalid(field, text ?? "", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")];
}

const special: [text: string, ranges: [string, number, "ipv4" | "ipv6"][]][] = [
  [
    "may not be in the loopback range (127.0.0.0/8, ::1/128)",
    [
      ["127.0.0.0", 8, "ipv4"],
      ["::1", 128, "ipv6"],
    ],
  ],
  [
    "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
    [
      ["169.254.0.0", 16, "ipv4"],
      ["fe80::", 10, "ipv6"],
    ],
  ],
  [
    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
    [
      ["224.0.0.0", 24, "ipv4"],
      ["ff02::", 16, "ipv6"],
    ],
  ],
];
const lists = special.map(([text, ranges]) => {
  const list = new BlockList();
  for (const range of ranges) list.addSubnet(...range);
  return { text, list };
});

/** An IPv4 address in the clothes of an IPv6 one: `::ffff:10.0.0.1`. */
export function isMappedIp(address: string): boolean {
  return isIP(address) === 6 && ipaddr.process(address).kind() === "ipv4";
}

export function validateReachableIp(address: string | undefined, field: string): FieldErrors {
  const errors = validateIp(address, field);
  return errors.length > 0 ? errors : validateReachable(address ?? "", field);
}

/** Addresses that mean this machine or nobody are no way to somewhere. The address is well-formed. */
export function validateReachable(address: string, field: string): FieldErrors {
  const plain = ipaddr.process(address).toString();
  if (/^[0.:]+$/.test(plain)) return [invalid(field, address, `may not be unspecified (${address})`)];
  const family = isIP(plain) === 4 ? "ipv4" : "ipv6";
  return lists.filter(({ list }) => list.check(plain, family)).map(({ text }) => invalid(field, address, text));
}
