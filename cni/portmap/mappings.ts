// The port mappings that a runtime hands over, checked.

import { type Address, tryAddress } from "../../plugins/kit/os/net/address.ts";
import { fieldOf, type PluginConfig } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";

type Protocol = "tcp" | "udp" | "sctp";

export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  readonly protocol: Protocol;
  /** Only for packets to this address of the host; absent for all of them. */
  readonly hostIp: Address | undefined;
}

function bad(what: string): CniFault {
  return new CniFault(cniCode.invalidConfig, `Invalid portmap configuration: ${what}`);
}

/** Mappings without a host port ask for nothing and are left out. */
export function parseMappings(config: PluginConfig): PortMapping[] {
  for (const key of ["conditionsV4", "conditionsV6"])
    if (Array.isArray(config[key]) && config[key].length > 0)
      throw new CniFault(cniCode.unsupportedField, `portmap does not support "${key}": they are iptables arguments`);
  const raw = config.runtimeConfig?.portMappings ?? [];
  if (!Array.isArray(raw)) throw bad("portMappings is not a list");
  return (raw as Record<string, unknown>[]).flatMap((mapping) => {
    const hostPort = fieldOf(mapping, "hostPort");
    if (hostPort === undefined || hostPort === 0) return [];
    const protocol = String(fieldOf(mapping, "protocol") ?? "tcp").toLowerCase();
    if (protocol !== "tcp" && protocol !== "udp" && protocol !== "sctp")
      throw bad(`protocol ${JSON.stringify(protocol)} is none of tcp, udp and sctp`);
    const text = String(fieldOf(mapping, "hostIP") ?? "");
    const isAny = text === "" || text === "0.0.0.0" || text === "::";
    const hostIp = isAny ? undefined : tryAddress(text);
    if (!isAny && !hostIp) throw bad(`hostIP ${JSON.stringify(text)} is not an address`);
    const containerPort = port(fieldOf(mapping, "containerPort"), "containerPort");
    return { hostPort: port(hostPort, "hostPort"), containerPort, protocol, hostIp };
  });
}

function port(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > 65535)
    throw bad(`${name} ${JSON.stringify(value)} is not a port`);
  return value;
}
