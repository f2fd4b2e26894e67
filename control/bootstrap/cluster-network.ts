// Publishes the cluster's address ranges, DNS addresses and domain to the nodes that join, and keeps a server with other ranges than those
// the cluster was created with from starting: services and nodes keep the addresses that they have.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { contains, overlaps, parsePrefix, tryAddress, tryPrefix } from "../../plugins/kit/os/net/address.ts";
import {
  type ClusterNetwork,
  clusterNetworkMap,
  flagValue,
  networkData,
  networkFromData,
} from "../../plugins/kit/kube/cluster-network.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Service } from "../../plugins/kit/kube/objects/types.ts";

type RangeFlag = "cluster-cidr" | "service-cidr";

/** Fault `invalid` when the store is that of a cluster with other ranges. Writes nothing. */
export async function checkClusterNetwork(client: ApiClient, network: ClusterNetwork, call: Call): Promise<void> {
  const map = await found(
    client.get<KubeObject & { data?: Record<string, string> }>(resources.configmaps, clusterNetworkMap, call),
  );
  const stored = networkFromData(map?.data);
  if (!stored) return checkByObjects(client, network, call);
  for (const flag of ["cluster-cidr", "service-cidr"] as const) {
    const [wanted, had] = [flagValue(network, flag), flagValue(stored, flag)];
    if (wanted !== had) throw changed(flag, wanted, had);
  }
}

/** A cluster of a version that did not publish its network is known by the addresses that it gave. */
async function checkByObjects(client: ApiClient, network: ClusterNetwork, call: Call): Promise<void> {
  const at = { namespace: "default", name: "kubernetes" };
  const service = await found(client.get<Service>(resources.services, at, call));
  const address = tryAddress(service?.spec?.clusterIP ?? "");
  if (address && !network.serviceCidrs.some((cidr) => contains(parsePrefix(cidr), address)))
    throw changed("service-cidr", flagValue(network, "service-cidr"), `a range with ${service?.spec?.clusterIP}`);
  const { items } = await client.list<Node>(resources.nodes, {}, call);
  for (const { metadata, spec } of items) {
    const podCidr = tryPrefix(spec?.podCIDR ?? "");
    if (podCidr && !network.clusterCidrs.some((cidr) => overlaps(parsePrefix(cidr), podCidr)))
      throw changed(
        "cluster-cidr",
        flagValue(network, "cluster-cidr"),
        `a range with ${spec?.podCIDR} of node "${metadata.name}"`,
      );
  }
}

function changed(flag: RangeFlag, wanted: string, had: string): Fault {
  return new Fault(
    "invalid",
    `Cannot use --${flag} ${wanted}: this cluster was created with ${had}, and what has addresses keeps them; start with the old range, or with a new --data-dir or store`,
  );
}

/** The ConfigMap that nodes read. */
export function clusterNetworkObject(network: ClusterNetwork): KubeObject & { data: Record<string, string> } {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { ...clusterNetworkMap }, data: networkData(network) };
}

async function found<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isFault(error, "not-found")) return undefined;
    throw error;
  }
}
