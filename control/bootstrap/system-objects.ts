// What every cluster has from its first start: the system namespaces, priority and storage classes, and the services `kubernetes`, that
// pods find the API by, and `kube-dns`, that holds the address of the cluster's DNS.

import ipaddr from "ipaddr.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { localPathProvisioner } from "../../plugins/kit/kube/objects/local-path.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { type ClusterNetwork, clusterNetworkMap } from "../../plugins/kit/kube/cluster-network.ts";
import { clusterNetworkObject } from "./cluster-network.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";

export interface SystemFacts {
  readonly serviceCidr: string;
  /** Where every node answers DNS. */
  readonly clusterDns?: readonly string[];
  /** Published to the nodes. */
  readonly network: ClusterNetwork;
  readonly advertise: { readonly address: string; readonly port: number };
  /** PEM; what whoever wants to join must know of this server. */
  readonly caCertificate: string;
  /** PEM; whose clients may tell other API servers on whose behalf they ask. */
  readonly frontProxyCa: string;
  readonly log: Log;
}

const systemPriorityClasses: readonly KubeObject[] = [
  [
    "system-cluster-critical",
    2_000_000_000,
    "For pods that the cluster cannot be without, on whichever node they run.",
  ],
  ["system-node-critical", 2_000_001_000, "For pods that this very node cannot be without."],
].map(([name, value, description]) => ({
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: String(name) },
  value,
  description,
}));

/** The class of claims that name none. One that is changed stays as it was changed. */
const localPathClass: KubeObject = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "local-path", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: localPathProvisioner,
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
  allowVolumeExpansion: true,
};

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** `resource/[namespace/]name` of everything that is made here, and of the endpoints of the API. */
export const systemObjectNames: ReadonlySet<string> = new Set([
  ...namespaces.map((name) => `namespaces/${name}`),
  ...systemPriorityClasses.map(({ metadata }) => `priorityclasses/${metadata.name}`),
  `storageclasses/${localPathClass.metadata.name}`,
  "services/default/kubernetes",
  "services/kube-system/kube-dns",
  "endpoints/default/kubernetes",
  "configmaps/kube-public/cluster-info",
  "configmaps/kube-system/extension-apiserver-authentication",
  `configmaps/${clusterNetworkMap.namespace}/${clusterNetworkMap.name}`,
]);

export async function ensureSystemObjects(client: ApiClient, facts: SystemFacts, call: Call): Promise<void> {
  for (const name of namespaces) {
    await ensure(client, resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, call);
  }
  for (const priorityClass of systemPriorityClasses)
    await ensure(client, resources.priorityclasses, priorityClass, call);
  await ensure(client, resources.storageclasses, localPathClass, call);
  await ensure(client, resources.services, kubernetesService(facts), call);
  await ensureClusterInfo(client, facts, call);
  await ensureMap(client, extensionAuthentication(facts), call);
  await ensureMap(client, clusterNetworkObject(facts.network), call);
  const dnsAddress = facts.clusterDns?.find((address) =>
    facts.serviceCidr.split(",").some((cidr) => isWithin(address, cidr)),
  );
  if (dnsAddress) await ensureDns(client, dnsAddress, facts.log, call);
}

/** A cluster whose DNS address was given to a service before this one existed goes on as it was. */
async function ensureDns(client: ApiClient, address: string, log: Log, call: Call): Promise<void> {
  try {
    await ensure(client, resources.services, dnsService(address), call);
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    const fix = `delete the service that has ${address} (kubectl get services -A), or use another --cluster-dns`;
    log.warn({ err: error, fix }, "another service has the address of the cluster's DNS, and cannot be reached there");
  }
}

/** The first address of the service range belongs to the API. */
export function firstServiceAddress(serviceCidrs: string): string {
  const [serviceCidr = ""] = serviceCidrs.split(",");
  if (!ipaddr.isValidCIDR(serviceCidr))
    throw new Fault("invalid", `Cannot use "${serviceCidr}" for services: it is not a CIDR such as 10.43.0.0/16`);
  const network = serviceCidr.includes(":")
    ? ipaddr.IPv6.networkAddressFromCIDR(serviceCidr)
    : ipaddr.IPv4.networkAddressFromCIDR(serviceCidr);
  const bytes = network.toByteArray();
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) + 1;
  return ipaddr.fromByteArray(bytes).toString();
}

function kubernetesService({ serviceCidr, advertise }: SystemFacts): KubeObject {
  const clusterIP = firstServiceAddress(serviceCidr);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "kubernetes", labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      type: "ClusterIP",
      clusterIP,
      clusterIPs: [clusterIP],
      sessionAffinity: "None",
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: advertise.port }],
    },
  };
}

function isWithin(address: string, cidr: string): boolean {
  if (!ipaddr.isValid(address) || address.includes(":") !== cidr.includes(":")) return false;
  const [network, bits] = ipaddr.parseCIDR(cidr);
  return ipaddr.parse(address).match(network, bits);
}

/** Keeps the address from being given to another service; no pods stand behind it, since each node answers there by itself. */
function dnsService(clusterIP: string): KubeObject {
  const ports = [
    { name: "dns", port: 53, protocol: "UDP", targetPort: 53 },
    { name: "dns-tcp", port: 53, protocol: "TCP", targetPort: 53 },
  ];
  const labels = { "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS" };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "kube-system", name: "kube-dns", labels },
    spec: { type: "ClusterIP", clusterIP, clusterIPs: [clusterIP], ports },
  };
}

/** Where the server is and whom to trust, for everyone to read; the bootstrap signer adds a signature for each join token. */
export async function ensureClusterInfo(client: ApiClient, facts: SystemFacts, call: Call): Promise<void> {
  const { advertise, caCertificate } = facts;
  const host = advertise.address.includes(":") ? `[${advertise.address}]` : advertise.address;
  const cluster = {
    "certificate-authority-data": Buffer.from(caCertificate).toString("base64"),
    server: `https://${host}:${advertise.port}`,
  };
  const config = { apiVersion: "v1", kind: "Config", clusters: [{ name: "", cluster }], contexts: [], users: [] };
  const kubeconfig = writeYaml({ ...config, "current-context": "", preferences: {} });
  const map = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "kube-public", name: "cluster-info" },
    data: { kubeconfig },
  };
  await ensureMap(client, map, call);
}

/** What servers that extend the API must know to take our word for who asks. */
function extensionAuthentication({ caCertificate, frontProxyCa }: SystemFacts): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "kube-system", name: "extension-apiserver-authentication" },
    data: {
      "client-ca-file": caCertificate,
      "requestheader-allowed-names": '["front-proxy-client"]',
      "requestheader-client-ca-file": frontProxyCa,
      "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
      "requestheader-group-headers": '["X-Remote-Group"]',
      "requestheader-username-headers": '["X-Remote-User"]',
    },
  };
}

interface ConfigMap extends KubeObject {
  data: Record<string, string>;
}

/** Its own entries are as they should be; what others added stays. */
async function ensureMap(client: ApiClient, map: ConfigMap, call: Call): Promise<void> {
  await ensure(client, resources.configmaps, map, call);
  const { namespace = "", name = "" } = map.metadata;
  const body = { data: map.data };
  await client.patch(resources.configmaps, { namespace, name }, { type: "merge", body }, call);
}

async function ensure(client: ApiClient, ref: ResourceRef, object: KubeObject, call: Call): Promise<void> {
  try {
    await client.create(ref, object, call, object.metadata.namespace ? { namespace: object.metadata.namespace } : {});
  } catch (error) {
    if (!isFault(error, "already-exists")) throw error;
  }
}
