// Kubernetes' own CEL types: quantities, URLs, IP addresses, CIDRs and named formats.

import type { Environment } from "@marcbachmann/cel-js";
import { Fault } from "../../base/fault.ts";
import {
  addressBytes,
  contains,
  formatAddress,
  formatPrefix,
  networkOf,
  type Address,
  type Prefix,
  tryAddress,
  tryPrefix,
} from "../../os/net/address.ts";
import {
  addQuantity,
  compareQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantityValue,
  subtractQuantity,
} from "../quantity.ts";

class CelQuantity {
  readonly value: Quantity;
  constructor(value: Quantity) {
    this.value = value;
  }
}

class CelUrl {
  readonly value: URL;
  readonly isRooted: boolean;
  constructor(value: URL, isRooted: boolean) {
    this.value = value;
    this.isRooted = isRooted;
  }
}

class CelIp {
  readonly value: Address;
  constructor(value: Address) {
    this.value = value;
  }
}

class CelCidr {
  readonly value: Prefix;
  constructor(value: Prefix) {
    this.value = value;
  }
}

const oneNano = 1_000_000_000n;

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    // The question is whether it can be made.
    return undefined;
  }
}

export function registerQuantityFunctions(env: Environment): void {
  const type = "kubernetes.Quantity";
  env.registerType(type, CelQuantity);
  env.registerFunction(`quantity(string): ${type}`, (text: string) => new CelQuantity(parseQuantity(text)));
  env.registerFunction("isQuantity(string): bool", (text: string) => attempt(() => parseQuantity(text)) !== undefined);
  const method = (signature: string, handler: (self: Quantity, other: Quantity) => unknown) =>
    env.registerFunction(`${type}.${signature}`, (self: CelQuantity, other?: CelQuantity | bigint) =>
      handler(self.value, typeof other === "bigint" ? quantityOf(other) : (other?.value ?? self.value)),
    );
  method("isInteger(): bool", (self) => self.nano % oneNano === 0n);
  method("asInteger(): int", (self) => {
    if (self.nano % oneNano !== 0n) throw new Fault("invalid", "cannot convert value to integer");
    return quantityValue(self);
  });
  method("asApproximateFloat(): double", (self) => Number(self.nano) / 1e9);
  // So upstream declares it: not as a method.
  env.registerFunction(`sign(${type}): int`, ({ value }: CelQuantity) =>
    value.nano > 0n ? 1n : value.nano < 0n ? -1n : 0n,
  );
  for (const operand of [type, "int"]) {
    method(`add(${operand}): ${type}`, (self, other) => new CelQuantity(addQuantity(self, other)));
    method(`sub(${operand}): ${type}`, (self, other) => new CelQuantity(subtractQuantity(self, other)));
  }
  method(`compareTo(${type}): int`, (self, other) => BigInt(compareQuantity(self, other)));
  method(`isLessThan(${type}): bool`, (self, other) => compareQuantity(self, other) < 0);
  method(`isGreaterThan(${type}): bool`, (self, other) => compareQuantity(self, other) > 0);
  env.registerOperator(
    `${type} == ${type}`,
    (a: CelQuantity, b: CelQuantity) => compareQuantity(a.value, b.value) === 0,
  );
}

export function registerUrlFunctions(env: Environment): void {
  const type = "kubernetes.URL";
  env.registerType(type, CelUrl);
  env.registerFunction(`url(string): ${type}`, (text: string) => {
    const url = parseUrl(text);
    if (!url) throw new Fault("invalid", `URL parse error during conversion from string: ${JSON.stringify(text)}`);
    return url;
  });
  env.registerFunction("isURL(string): bool", (text: string) => parseUrl(text) !== undefined);
  const method = (signature: string, read: (url: CelUrl) => unknown) =>
    env.registerFunction(`${type}.${signature}`, read);
  method("getScheme(): string", ({ value, isRooted }) => (isRooted ? "" : value.protocol.slice(0, -1)));
  method("getHost(): string", ({ value, isRooted }) => (isRooted ? "" : value.host));
  method("getHostname(): string", ({ value, isRooted }) => (isRooted ? "" : value.hostname.replace(/^\[|\]$/g, "")));
  method("getPort(): string", ({ value, isRooted }) => (isRooted ? "" : value.port));
  method("getEscapedPath(): string", ({ value }) => value.pathname);
  method("getQuery(): map<string, list<string>>", ({ value }) => {
    const query: Record<string, string[]> = {};
    for (const [key, each] of value.searchParams) {
      const list = query[key];
      if (list) list.push(each);
      else Object.defineProperty(query, key, { value: [each], enumerable: true, configurable: true, writable: true });
    }
    return query;
  });
  env.registerOperator(`${type} == ${type}`, (a: CelUrl, b: CelUrl) => a.value.href === b.value.href);
}

/** An absolute URI or an absolute path. */
function parseUrl(text: string): CelUrl | undefined {
  if (text.startsWith("/")) {
    const value = attempt(() => new URL(`path:${text}`));
    return value && new CelUrl(value, true);
  }
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return undefined;
  const value = attempt(() => new URL(text));
  return value && new CelUrl(value, false);
}

export function registerNetworkFunctions(env: Environment): void {
  const [ip, cidr] = ["net.IP", "net.CIDR"];
  env.registerType(ip, CelIp);
  env.registerType(cidr, CelCidr);
  const address = (text: string) => {
    const found = tryAddress(text);
    if (!found)
      throw new Fault("invalid", `IP Address ${JSON.stringify(text)} parse error during conversion from string`);
    return found;
  };
  env.registerFunction(`ip(string): ${ip}`, (text: string) => new CelIp(address(text)));
  env.registerFunction("isIP(string): bool", (text: string) => tryAddress(text) !== undefined);
  env.registerFunction(`string(${ip}): string`, (self: CelIp) => formatAddress(self.value));
  const prefix = (text: string) => {
    const found = tryPrefix(text);
    if (!found)
      throw new Fault("invalid", `network address parse error during conversion from string: ${JSON.stringify(text)}`);
    return found;
  };
  env.registerFunction(`cidr(string): ${cidr}`, (text: string) => new CelCidr(prefix(text)));
  env.registerFunction("isCIDR(string): bool", (text: string) => tryPrefix(text) !== undefined);
  env.registerFunction(`string(${cidr}): string`, (self: CelCidr) => formatPrefix(self.value));
  class IpNamespace {}
  env.registerType("IpNamespace", IpNamespace);
  env.registerConstant("ip", "IpNamespace", new IpNamespace());
  env.registerFunction(
    "IpNamespace.isCanonical(string): bool",
    (_: unknown, text: string) => formatAddress(address(text)) === text,
  );
  const ofIp = (signature: string, read: (bytes: Uint8Array) => unknown) =>
    env.registerFunction(`${ip}.${signature}`, (self: CelIp) => read(addressBytes(self.value)));
  ofIp("family(): int", (bytes) => (bytes.length === 4 ? 4n : 6n));
  ofIp("isUnspecified(): bool", (bytes) => bytes.every((byte) => byte === 0));
  ofIp("isLoopback(): bool", isLoopback);
  ofIp("isLinkLocalMulticast(): bool", isLinkLocalMulticast);
  ofIp("isLinkLocalUnicast(): bool", isLinkLocalUnicast);
  ofIp("isGlobalUnicast(): bool", (bytes) => {
    const isMulticast = bytes.length === 4 ? ((bytes[0] ?? 0) & 0xf0) === 0xe0 : bytes[0] === 0xff;
    const isBroadcast = bytes.length === 4 && bytes.every((byte) => byte === 255);
    const isNothing = bytes.every((byte) => byte === 0);
    return !isNothing && !isBroadcast && !isLoopback(bytes) && !isMulticast && !isLinkLocalUnicast(bytes);
  });
  env.registerOperator(`${ip} == ${ip}`, (a: CelIp, b: CelIp) => formatAddress(a.value) === formatAddress(b.value));
  env.registerOperator(
    `${cidr} == ${cidr}`,
    (a: CelCidr, b: CelCidr) => formatPrefix(a.value) === formatPrefix(b.value),
  );
  env.registerFunction(`${cidr}.containsIP(string): bool`, (self: CelCidr, text: string) =>
    contains(self.value, address(text)),
  );
  env.registerFunction(`${cidr}.containsIP(${ip}): bool`, (self: CelCidr, other: CelIp) =>
    contains(self.value, other.value),
  );
  env.registerFunction(`${cidr}.containsCIDR(string): bool`, (self: CelCidr, text: string) =>
    covers(self.value, prefix(text)),
  );
  env.registerFunction(`${cidr}.containsCIDR(${cidr}): bool`, (self: CelCidr, other: CelCidr) =>
    covers(self.value, other.value),
  );
  env.registerFunction(`${cidr}.ip(): ${ip}`, (self: CelCidr) => new CelIp(self.value.address));
  env.registerFunction(`${cidr}.masked(): ${cidr}`, (self: CelCidr) => new CelCidr(networkOf(self.value)));
  env.registerFunction(`${cidr}.prefixLength(): int`, (self: CelCidr) => BigInt(self.value.length));
}

const covers = (outer: Prefix, inner: Prefix) => outer.length <= inner.length && contains(outer, inner.address);

const isLoopback = (bytes: Uint8Array) =>
  bytes.length === 4 ? bytes[0] === 127 : bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));

const isLinkLocalUnicast = (bytes: Uint8Array) =>
  bytes.length === 4 ? bytes[0] === 169 && bytes[1] === 254 : bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;

const isLinkLocalMulticast = (bytes: Uint8Array) =>
  bytes.length === 4
    ? bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0
    : bytes[0] === 0xff && ((bytes[1] ?? 0) & 0x0f) === 0x02;
