// The cluster's address ranges, DNS addresses and domain: read from flags and checked against each other, and the ConfigMap in which a
// server publishes them to the nodes that join it.

import { Fault } from "../base/fault.ts";
import type { Settings } from "../base/settings.ts";
import { contains, firstAddress, formatAddress, formatPrefix, networkOf, offset, overlaps } from "../os/net/address.ts";
import { type Address, type Prefix, tryAddress, tryPrefix } from "../os/net/address.ts";

export interface ClusterNetwork {
  readonly clusterCidrs: readonly string[];
  /** Empty where nobody said: a node of another Kubernetes may know the DNS address only. */
  readonly serviceCidrs: readonly string[];
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
}

/** In kube-system; every node may read it. Its keys are the names of the flags. */
export const clusterNetworkMap = { namespace: "kube-system", name: "skiff-cluster-network" };

export const clusterNetworkFlags = ["cluster-cidr", "service-cidr", "cluster-dns", "cluster-domain"] as const;
export type ClusterNetworkFlag = (typeof clusterNetworkFlags)[number];

const defaultClusterCidr = "10.42.0.0/16";
const defaultServiceCidr = "10.43.0.0/16";
const defaultDomain = "cluster.local";
/** The first is that of the API, and upstream's tools give the tenth to DNS. */
const dnsOffset = 10;

/** Throws what is wrong with the flags, alone or together. */
export function clusterNetworkFrom(settings: Settings): ClusterNetwork {
  const said = (flag: ClusterNetworkFlag) =>
    String(settings[flag] ?? "")
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  const pods = prefixes("cluster-cidr", said("cluster-cidr"), [defaultClusterCidr]);
  const dns = said("cluster-dns").map(dnsAddress);
  const services = prefixes("service-cidr", said("service-cidr"), dns.length > 0 ? [] : [defaultServiceCidr]);
  for (const service of services) {
    const pod = pods.find((other) => overlaps(service, other));
    if (pod)
      throw new Fault(
        "invalid",
        `Cannot use --service-cidr ${formatPrefix(service)}: it overlaps with --cluster-cidr ${formatPrefix(pod)}; pods and services need ranges that share no address`,
      );
  }
  for (const address of dns) checkDns(address, services);
  return {
    clusterCidrs: pods.map(formatPrefix),
    serviceCidrs: services.map(formatPrefix),
    clusterDns: (dns.length > 0 ? dns : services.map(defaultDns)).map(formatAddress),
    clusterDomain: said("cluster-domain")[0] ?? defaultDomain,
  };
}

function prefixes(flag: ClusterNetworkFlag, texts: readonly string[], otherwise: readonly string[]): Prefix[] {
  const found = (texts.length > 0 ? texts : otherwise).map((text) => {
    const prefix = tryPrefix(text);
    if (!prefix) throw new Fault("invalid", `Bad value for --${flag}: "${text}" is not a CIDR such as 10.42.0.0/16`);
    return networkOf(prefix);
  });
  if (found.length > 2 || (found.length === 2 && found[0]?.address.family === found[1]?.address.family))
    throw new Fault("invalid", `Bad value for --${flag}: it is one CIDR, or one of each family with a comma between`);
  return found;
}

function dnsAddress(text: string): Address {
  const address = tryAddress(text);
  if (!address) throw new Fault("invalid", `Bad value for --cluster-dns: "${text}" is not an address`);
  return address;
}

function checkDns(address: Address, services: readonly Prefix[]): void {
  if (services.length === 0) return;
  const range = services.find((service) => contains(service, address));
  if (!range)
    throw new Fault(
      "invalid",
      `Bad value for --cluster-dns: ${formatAddress(address)} is not in --service-cidr ${services.map(formatPrefix).join(",")}; leave --cluster-dns out to use ${services.map(defaultDns).map(formatAddress).join(",")}`,
    );
  if (address.value - firstAddress(range).value < 2n)
    throw new Fault(
      "invalid",
      `Bad value for --cluster-dns: ${formatAddress(address)} is reserved in --service-cidr ${formatPrefix(range)} for the range itself and the API server; leave --cluster-dns out to use ${formatAddress(defaultDns(range))}`,
    );
}

function defaultDns(service: Prefix): Address {
  const address = offset(firstAddress(service), dnsOffset);
  if (contains(service, address)) return address;
  throw new Fault(
    "invalid",
    `Bad value for --service-cidr: ${formatPrefix(service)} has no tenth address for the cluster's DNS; choose a larger range, or set --cluster-dns`,
  );
}

/** The value of a flag that gives this network. */
export function flagValue(network: ClusterNetwork, flag: ClusterNetworkFlag): string {
  const values: Record<ClusterNetworkFlag, string> = {
    "cluster-cidr": network.clusterCidrs.join(),
    "service-cidr": network.serviceCidrs.join(),
    "cluster-dns": network.clusterDns.join(),
    "cluster-domain": network.clusterDomain,
  };
  return values[flag];
}

/** As in the ConfigMap, and as settings. */
export function networkData(network: ClusterNetwork): Record<ClusterNetworkFlag, string> {
  return Object.fromEntries(clusterNetworkFlags.map((flag) => [flag, flagValue(network, flag)])) as Record<
    ClusterNetworkFlag,
    string
  >;
}

/** Undefined when the data is not that of a whole network. */
export function networkFromData(data: Readonly<Record<string, unknown>> | undefined): ClusterNetwork | undefined {
  const known = clusterNetworkFlags.filter((flag) => typeof data?.[flag] === "string" && data[flag] !== "");
  if (known.length < clusterNetworkFlags.length) return undefined;
  try {
    return clusterNetworkFrom(data as Settings);
  } catch {
    return undefined; // written by something else: as if it were not there
  }
}
