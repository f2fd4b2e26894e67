// What ADD returns: kept in the newest form inside, written and read in the form of the version that a configuration asks for.

import { tryAddress, tryPrefix } from "../../plugins/kit/os/net/address.ts";
import { CniFault, cniCode } from "./error.ts";
import { type CniVersion, isAtLeast } from "./version.ts";

interface ResultInterface {
  readonly name: string;
  readonly mac?: string;
  readonly mtu?: number;
  /** The network namespace; empty or absent on the host. */
  readonly sandbox?: string;
  readonly socketPath?: string;
  readonly pciID?: string;
}

export interface ResultIp {
  /** With its prefix length: 10.42.0.7/24. */
  readonly address: string;
  readonly gateway?: string;
  /** An index into `interfaces`. */
  readonly interface?: number;
}

export interface ResultRoute {
  readonly dst: string;
  readonly gw?: string;
  readonly mtu?: number;
  readonly advmss?: number;
  readonly priority?: number;
  readonly table?: number;
  readonly scope?: number;
}

export interface ResultDns {
  readonly nameservers?: readonly string[];
  readonly domain?: string;
  readonly search?: readonly string[];
  readonly options?: readonly string[];
}

export interface CniResult {
  readonly interfaces: readonly ResultInterface[];
  readonly ips: readonly ResultIp[];
  readonly routes: readonly ResultRoute[];
  readonly dns: ResultDns;
}

export const emptyResult: CniResult = { interfaces: [], ips: [], routes: [], dns: {} };

/** The JSON form of that version. Fields that it does not have are left out. */
export function printResult(result: CniResult, version: CniVersion): Record<string, unknown> {
  const isOne = isAtLeast(version, "1.0.0");
  const isOneOne = isAtLeast(version, "1.1.0");
  const ips = result.ips.map((ip) => (isOne ? ip : { version: ip.address.includes(":") ? "6" : "4", ...ip }));
  const interfaces = result.interfaces.map((link) =>
    isOneOne ? link : { name: link.name, ...pick(link, ["mac", "sandbox"]) },
  );
  const routes = result.routes.map((route) => (isOneOne ? route : { dst: route.dst, ...pick(route, ["gw"]) }));
  return {
    cniVersion: version,
    ...(interfaces.length > 0 ? { interfaces } : {}),
    ...(ips.length > 0 ? { ips } : {}),
    ...(routes.length > 0 ? { routes } : {}),
    dns: result.dns,
  };
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const taken: Partial<Pick<T, K>> = {};
  for (const key of keys) if (from[key] !== undefined) taken[key] = from[key];
  return taken;
}

/** Reads a result of any supported version. */
export function parseResult(raw: unknown): CniResult {
  const body = object(raw, "the result");
  return {
    interfaces: list(body.interfaces, "interfaces").map((entry) => {
      const link = object(entry, "interfaces[]");
      return {
        name: String(link.name ?? ""),
        ...texts(link, ["mac", "sandbox", "socketPath", "pciID"]),
        ...numbers(link, ["mtu"]),
      };
    }),
    ips: list(body.ips, "ips").map((entry) => {
      const ip = object(entry, "ips[]");
      const address = String(ip.address ?? "");
      if (!tryPrefix(address)) throw bad(`ips[].address ${JSON.stringify(ip.address)} is not a CIDR`);
      if (ip.gateway && !tryAddress(String(ip.gateway)))
        throw bad(`ips[].gateway ${JSON.stringify(ip.gateway)} is not an address`);
      return { address, ...texts(ip, ["gateway"]), ...numbers(ip, ["interface"]) };
    }),
    routes: list(body.routes, "routes").map((entry) => {
      const route = object(entry, "routes[]");
      const dst = String(route.dst ?? "");
      if (!tryPrefix(dst)) throw bad(`routes[].dst ${JSON.stringify(route.dst)} is not a CIDR`);
      return { dst, ...texts(route, ["gw"]), ...numbers(route, ["mtu", "advmss", "priority", "table", "scope"]) };
    }),
    dns: body.dns ? (object(body.dns, "dns") as ResultDns) : {},
  };
}

function bad(what: string): CniFault {
  return new CniFault(cniCode.decodingFailure, `Cannot read a result: ${what}`);
}

function object(raw: unknown, what: string): Record<string, unknown> {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw bad(`${what} is not an object`);
  return raw as Record<string, unknown>;
}

function list(raw: unknown, what: string): unknown[] {
  if (raw === undefined || raw === null) return [];
  if (!Array.isArray(raw)) throw bad(`${what} is not a list`);
  return raw;
}

function texts<K extends string>(from: Record<string, unknown>, keys: readonly K[]): { [key in K]?: string } {
  const taken: { [key in K]?: string } = {};
  for (const key of keys) if (typeof from[key] === "string" && from[key] !== "") taken[key] = from[key];
  return taken;
}

function numbers<K extends string>(from: Record<string, unknown>, keys: readonly K[]): { [key in K]?: number } {
  const taken: { [key in K]?: number } = {};
  for (const key of keys) if (typeof from[key] === "number") taken[key] = from[key];
  return taken;
}
