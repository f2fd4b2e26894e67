// The bridge plugin's configuration, checked once.

import { type Prefix, tryPrefix } from "../../plugins/kit/os/net/address.ts";
import type { PluginConfig } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import type { PluginArgs } from "../spec/plugin.ts";

export interface VlanRange {
  readonly first: number;
  readonly last: number;
}

export interface BridgeSettings {
  readonly network: string;
  readonly bridge: string;
  readonly isGateway: boolean;
  readonly isDefaultGateway: boolean;
  readonly forceAddress: boolean;
  readonly ipMasq: boolean;
  /** Prefixes beyond the pod's own that are reached without masquerading, such as the pods of other nodes. */
  readonly nonMasquerade: readonly Prefix[];
  readonly mtu: number | undefined;
  readonly hairpin: boolean;
  readonly promiscuous: boolean;
  readonly vlan: number | undefined;
  /** VLANs whose tagged frames the pod gets too, as rising ranges; undefined where the port is no trunk. */
  readonly trunk: readonly VlanRange[] | undefined;
  /** The VLANs that the bridge gives a new port by itself stay beside those asked for. */
  readonly keepsDefaultVlan: boolean;
  /** The pod's end is left down: whoever runs in there brings it up. */
  readonly isLeftDown: boolean;
  readonly isPortIsolated: boolean;
  readonly isDadEnabled: boolean;
  readonly isMacGuarded: boolean;
  readonly mac: string | undefined;
  readonly ipamType: string | undefined;
}

function bad(what: string): CniFault {
  return new CniFault(cniCode.invalidConfig, `Invalid bridge configuration: ${what}`);
}

/** Link names that the kernel takes: at most 15 bytes, no slash, colon or space. */
export function isLinkName(name: string): boolean {
  return name.length > 0 && name.length <= 15 && name !== "." && name !== ".." && !/[/:\s]/.test(name);
}

export function parseBridge(config: PluginConfig, args?: PluginArgs): BridgeSettings {
  const bridge = config.bridge ?? "cni0";
  if (typeof bridge !== "string" || !isLinkName(bridge)) throw bad(`bridge ${JSON.stringify(bridge)} is no link name`);
  const hairpin = config.hairpinMode === true;
  const promiscuous = config.promiscMode === true;
  if (hairpin && promiscuous) throw bad("hairpinMode and promiscMode exclude each other");
  const isDefaultGateway = config.isDefaultGateway === true;
  const isLeftDown = config.disableContainerInterface === true;
  if (isLeftDown && ipamType(config)) throw bad("disableContainerInterface and ipam exclude each other");
  return {
    network: config.name,
    bridge,
    isGateway: config.isGateway === true || isDefaultGateway,
    isDefaultGateway,
    forceAddress: config.forceAddress === true,
    ipMasq: config.ipMasq === true,
    nonMasquerade: prefixes(config.nonMasqueradeCIDRs),
    mtu: wholeNumber(config.mtu, "mtu", 68, 65535),
    hairpin,
    promiscuous,
    vlan: wholeNumber(config.vlan, "vlan", 0, 4094) || undefined,
    trunk: trunk(config.vlanTrunk),
    keepsDefaultVlan: config.preserveDefaultVlan === true,
    isLeftDown,
    isPortIsolated: config.portIsolation === true,
    isDadEnabled: config.enabledad === true,
    isMacGuarded: config.macspoofchk === true,
    mac: requestedMac(config, args),
    ipamType: ipamType(config),
  };
}

/** What DEL goes by: it must work with a configuration that ADD would refuse, or that has become wrong since. */
export type LeavingSettings = Pick<BridgeSettings, "network" | "ipMasq" | "isMacGuarded" | "ipamType">;

export function parseLeaving(config: PluginConfig): LeavingSettings {
  const type = config.ipam?.type;
  return {
    network: config.name,
    ipMasq: config.ipMasq === true,
    isMacGuarded: config.macspoofchk === true,
    ipamType: typeof type === "string" && type !== "" ? type : undefined,
  };
}

function wholeNumber(value: unknown, name: string, least: number, most: number): number | undefined {
  if (value === undefined || value === 0) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most)
    throw bad(`${name} ${JSON.stringify(value)} is not a number from ${least} to ${most}`);
  return value;
}

/** `[{ minID, maxID }, { id }]` as ranges, in order and without overlaps. */
function trunk(value: unknown): VlanRange[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw bad("vlanTrunk is not a list");
  const ids = new Set<number>();
  for (const [index, raw] of (value as unknown[]).entries()) {
    const where = `vlanTrunk[${index}]`;
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw bad(`${where} is not an object`);
    const { minID, maxID, id } = raw as Record<string, unknown>;
    if ((minID === undefined) !== (maxID === undefined))
      throw bad(`${where} has ${minID === undefined ? "maxID without minID" : "minID without maxID"}`);
    if (minID !== undefined) {
      const first = vlanId(minID, `${where}.minID`);
      const last = vlanId(maxID, `${where}.maxID`);
      if (last < first) throw bad(`${where}: minID ${first} is greater than maxID ${last}`);
      for (let each = first; each <= last; each++) ids.add(each);
    }
    if (id !== undefined) ids.add(vlanId(id, `${where}.id`));
  }
  const ranges: { first: number; last: number }[] = [];
  for (const id of [...ids].sort((a, b) => a - b)) {
    const before = ranges.at(-1);
    if (before && before.last === id - 1) before.last = id;
    else ranges.push({ first: id, last: id });
  }
  return ranges;
}

function vlanId(value: unknown, where: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > 4094)
    throw bad(`${where} ${JSON.stringify(value)} is not a number from 1 to 4094`);
  return value;
}

function prefixes(value: unknown): Prefix[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw bad("nonMasqueradeCIDRs is not a list");
  return (value as unknown[]).map((text) => {
    const prefix = tryPrefix(String(text));
    if (!prefix) throw bad(`nonMasqueradeCIDRs holds ${JSON.stringify(text)}, which is not a CIDR`);
    return prefix;
  });
}

function ipamType(config: PluginConfig): string | undefined {
  const type = config.ipam?.type;
  if (type === undefined || type === "") return undefined;
  if (typeof type !== "string" || type.includes("/")) throw bad(`ipam type ${JSON.stringify(type)} is not usable`);
  return type;
}

// The runtime's word beats the configuration's args, and those beat CNI_ARGS.
function requestedMac(config: PluginConfig, args: PluginArgs | undefined): string | undefined {
  const cni = (config.args?.cni ?? {}) as { mac?: unknown };
  const mac = config.runtimeConfig?.mac ?? cni.mac ?? config.mac ?? args?.args.MAC;
  if (mac === undefined || mac === "") return undefined;
  if (typeof mac !== "string" || !/^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$/.test(mac))
    throw bad(`mac ${JSON.stringify(mac)} is not a MAC address`);
  return mac.toLowerCase();
}
