// The host-local IPAM plugin: gives out addresses of configured ranges, one of each set, and remembers them on disk.

import { readFileSync } from "node:fs";
import type { Call } from "../../plugins/kit/base/call.ts";
import { type Address, formatAddress, isSameAddress, tryAddress, tryPrefix } from "../../plugins/kit/os/net/address.ts";
import type { PluginConfig } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import { type NetworkPlugin, type PluginArgs, validAttachments } from "../spec/plugin.ts";
import type { CniResult, ResultDns, ResultRoute } from "../spec/result.ts";
import { type Choice, chooseNext, chooseRequested } from "./allocate.ts";
import { defaultDataDir, type Lease, type LockedLeases, withLeases } from "./leases.ts";
import { parseRanges, type RangeSet, rangeOf } from "./ranges.ts";

interface Settings {
  readonly network: string;
  readonly dataDir: string;
  readonly sets: readonly RangeSet[];
  readonly routes: readonly ResultRoute[];
  readonly resolvConf: string | undefined;
}

export const hostLocal: NetworkPlugin = { type: "host-local", add, check, del, status, gc };

function parseSettings(config: PluginConfig): Settings {
  const ipam = ipamOf(config);
  const runtimeRanges = config.runtimeConfig?.ipRanges;
  const sets = parseRanges(
    runtimeRanges === undefined ? ipam : { ...ipam, ranges: [...asList(runtimeRanges), ...asList(ipam.ranges)] },
  );
  return {
    network: config.name,
    dataDir: dataDirOf(config),
    sets,
    routes: parseRoutes(ipam.routes),
    resolvConf: asText(ipam.resolvConf),
  };
}

function ipamOf(config: PluginConfig): Readonly<Record<string, unknown>> {
  if (!config.ipam)
    throw new CniFault(cniCode.invalidConfig, "Invalid host-local configuration: there is no ipam section");
  return config.ipam;
}

function dataDirOf(config: PluginConfig): string {
  return asText(config.ipam?.dataDir) ?? defaultDataDir;
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parseRoutes(raw: unknown): ResultRoute[] {
  return asList(raw).map((entry) => {
    const route = entry as ResultRoute;
    if (!tryPrefix(String(route.dst)))
      throw new CniFault(
        cniCode.invalidConfig,
        `Invalid host-local configuration: route ${JSON.stringify(route.dst)} is not a CIDR`,
      );
    return route;
  });
}

/** Addresses asked for by the runtime (`ips`), by CNI_ARGS (IP=…) or by the configuration's args, without prefix lengths. */
function requestedAddresses({ config, args }: PluginArgs): Address[] {
  const cni = (config.args?.cni ?? {}) as { ips?: unknown };
  const asked = [
    ...(args.IP ? args.IP.split(",") : []),
    ...asList(cni.ips).map(String),
    ...asList(config.runtimeConfig?.ips).map(String),
  ];
  return asked.map((text) => {
    const address = tryAddress(text.trim()) ?? tryPrefix(text.trim())?.address;
    if (!address) throw new CniFault(cniCode.invalidConfig, `The requested address "${text}" is not an IP address`);
    return address;
  });
}

async function add(args: PluginArgs, call: Call): Promise<CniResult> {
  const settings = parseSettings(args.config);
  const requested = requestedAddresses(args);
  const unfit = requested.find((address) => !settings.sets.some((set) => rangeOf(set, address)));
  if (unfit)
    throw new CniFault(cniCode.invalidConfig, `Cannot give out ${formatAddress(unfit)}: it is in none of the ranges`);
  const choices = await withLeases(
    settings.dataDir,
    settings.network,
    (leases) => allocateAll(args, settings, requested, leases),
    call,
  );
  return {
    interfaces: [],
    ips: choices.map(({ address, range }) => ({
      address: `${formatAddress(address)}/${range.subnet.length}`,
      ...(range.gateway ? { gateway: formatAddress(range.gateway) } : {}),
    })),
    routes: settings.routes,
    dns: settings.resolvConf ? readResolvConf(settings.resolvConf) : {},
  };
}

// All or nothing: when one set has no address left, those already reserved for this attachment are given back.
function allocateAll(
  args: PluginArgs,
  settings: Settings,
  requested: readonly Address[],
  leases: LockedLeases,
): Choice[] {
  const held = leases.listOf(args);
  const fresh: Lease[] = [];
  try {
    return settings.sets.map((set, index) => {
      const wanted = requested.find((address) => rangeOf(set, address));
      // An ADD that was killed after it reserved is repeated by the runtime: it gets what it had.
      const kept = held.find(
        (lease) => rangeOf(set, lease.address) && (!wanted || isSameAddress(wanted, lease.address)),
      );
      const keptRange = kept && rangeOf(set, kept.address);
      if (kept && keptRange) return { address: kept.address, range: keptRange };
      const choice = wanted
        ? chooseRequested(set, wanted, leases.isTaken)
        : chooseNext(set, leases.lastReserved(index), leases.isTaken);
      const lease = { address: choice.address, containerId: args.containerId, ifName: args.ifName };
      leases.reserve(lease);
      fresh.push(lease);
      if (!wanted) leases.setLastReserved(index, choice.address);
      return choice;
    });
  } catch (error) {
    for (const lease of fresh) leases.release(lease);
    throw error;
  }
}

async function check(args: PluginArgs, call: Call): Promise<void> {
  const held = await withLeases(dataDirOf(args.config), args.config.name, (leases) => leases.listOf(args), call);
  if (held.length === 0)
    throw new CniFault(
      cniCode.internal,
      `Container "${args.containerId}" holds no address for interface "${args.ifName}"`,
    );
}

async function del(args: PluginArgs, call: Call): Promise<void> {
  await withLeases(
    dataDirOf(args.config),
    args.config.name,
    (leases) => {
      for (const lease of leases.listOf(args)) leases.release(lease);
    },
    call,
  );
}

async function status(config: PluginConfig, _path: readonly string[], call: Call): Promise<void> {
  const settings = parseSettings(config);
  await withLeases(
    settings.dataDir,
    settings.network,
    (leases) => {
      for (const [index, set] of settings.sets.entries()) {
        try {
          chooseNext(set, leases.lastReserved(index), leases.isTaken);
        } catch (error) {
          throw new CniFault(cniCode.notAvailable, (error as Error).message, { cause: error });
        }
      }
    },
    call,
  );
}

async function gc(config: PluginConfig, _path: readonly string[], call: Call): Promise<void> {
  const valid = validAttachments(config);
  await withLeases(
    dataDirOf(config),
    config.name,
    (leases) => {
      for (const lease of leases.list()) {
        const isValid = lease.ifName
          ? valid.has(`${lease.containerId}/${lease.ifName}`)
          : [...valid].some((key) => key.startsWith(`${lease.containerId}/`));
        if (!isValid) leases.release(lease);
      }
    },
    call,
  );
}

function readResolvConf(path: string): ResultDns {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CniFault(cniCode.ioFailure, `Cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
  const words = text
    .split("\n")
    .map((line) =>
      line
        .replace(/[#;].*$/, "")
        .trim()
        .split(/\s+/),
    )
    .filter((line) => line.length > 1);
  const all = (key: string) => words.filter(([first]) => first === key).flatMap((line) => line.slice(1));
  const domain = all("domain")[0];
  return {
    nameservers: all("nameserver"),
    ...(domain ? { domain } : {}),
    search: all("search"),
    options: all("options"),
  };
}
