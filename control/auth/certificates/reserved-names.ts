// Names and addresses that no node may have a certificate for: whoever serves under them is taken for the API server, a Service or
// the local machine.

import { contains, formatAddress, parsePrefix, tryAddress } from "../../../plugins/kit/os/net/address.ts";
import { validateReachableIp } from "../../resources/addresses.ts";
import { dnsSubdomain } from "../../resources/names.ts";

export interface ReservedNames {
  /** Why no node may be called or serve under this DNS name; undefined when it may. */
  dnsProblem(name: string): string | undefined;
  ipProblem(address: string): string | undefined;
  /** Why no machine can have this address. */
  networkProblem(address: string): string | undefined;
}

export interface ClusterNames {
  /** What API servers are reached by: the names of this server's certificate, and the addresses of all. */
  servers(): { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  readonly clusterDomain: string;
  /** Networks of Services and pods. */
  readonly cidrs: readonly string[];
}

export function reservedNames({ servers, clusterDomain, cidrs }: ClusterNames): ReservedNames {
  const networks = cidrs.flatMap((each) => each.split(",")).map((cidr) => ({ cidr, prefix: parsePrefix(cidr.trim()) }));
  const networkProblem = (address: string): string | undefined => {
    const parsed = tryAddress(address);
    if (!parsed) return "is not an IP address";
    // Some clients take these for the IPv4 address inside.
    if (parsed.family === 6 && parsed.value >> 32n === 0xffffn) return "is an IPv4-mapped address";
    if (validateReachableIp(address, "").length > 0) return "is not an address of a single machine";
    const network = networks.find(({ prefix }) => contains(prefix, parsed));
    return network ? `belongs to the network of Services or pods ${network.cidr}` : undefined;
  };
  const ipProblem = (address: string): string | undefined => {
    const problem = networkProblem(address);
    if (problem) return problem;
    return servers().ipAddresses.some((each) => plainAddress(each) === plainAddress(address))
      ? "is an address of an API server"
      : undefined;
  };
  return {
    ipProblem,
    networkProblem,
    dnsProblem(name) {
      if (dnsSubdomain(name).length > 0) return "is not a lowercase RFC 1123 subdomain";
      if (tryAddress(name)) return ipProblem(name);
      if (within(name, "localhost") || within(name, "localhost.localdomain")) return "means the local machine";
      if (within(name, "svc") || within(name, clusterDomain)) return "is a name of Services or pods";
      if (servers().dnsNames.includes(name)) return "is a name of an API server";
      return undefined;
    },
  };
}

/** The usual form, so that two spellings of one address compare equal. */
export function plainAddress(address: string): string {
  const parsed = tryAddress(address);
  return parsed ? formatAddress(parsed) : address;
}

const within = (name: string, domain: string) => name === domain || name.endsWith(`.${domain}`);
