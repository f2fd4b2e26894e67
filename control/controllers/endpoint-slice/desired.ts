// Which addresses stand behind a service, and on which ports: a pure function of the service and its pods.

import { createHash } from "node:crypto";
import type { Node, Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { isReady } from "../pods/pod-facts.ts";

export interface Endpoint {
  addresses: string[];
  conditions: { ready: boolean; serving: boolean; terminating: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  targetRef?: { kind: string; namespace: string; name: string; uid: string };
  hints?: { forZones: { name: string }[] };
}

export interface EndpointPort {
  name: string;
  port?: number;
  protocol: string;
  appProtocol?: string;
}

/** Endpoints that share their ports; named ports may differ from pod to pod. */
export interface EndpointGroup {
  readonly ports: EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

export type AddressType = "IPv4" | "IPv6";

export function addressTypesOf(service: Service): AddressType[] {
  const families = service.spec?.ipFamilies as AddressType[] | undefined;
  if (families && families.length > 0) return families;
  return service.spec?.clusterIP?.includes(":") ? ["IPv6"] : ["IPv4"];
}

/** Groups by their ports' key. Pods that are done or have no address of the family are left out. */
export function desiredGroups(
  service: Service,
  pods: readonly Pod[],
  family: AddressType,
  nodeOf: (name: string) => Node | undefined,
): Map<string, EndpointGroup> {
  const groups = new Map<string, EndpointGroup>();
  for (const pod of pods) {
    const address = addressOf(pod, family);
    if (isTerminal(pod) || !address) continue;
    const ports = portsOf(service, pod);
    const key = portsKey(ports);
    let group = groups.get(key);
    if (!group) {
      group = { ports, endpoints: new Map() };
      groups.set(key, group);
    }
    group.endpoints.set(pod.metadata.uid ?? address, endpointOf(service, pod, address, nodeOf));
  }
  return groups;
}

function addressOf(pod: Pod, family: AddressType): string | undefined {
  const addresses = pod.status?.podIPs?.map(({ ip }) => ip ?? "") ?? [pod.status?.podIP ?? ""];
  return addresses.find((ip) => ip !== "" && ip.includes(":") === (family === "IPv6"));
}

function portsOf(service: Service, pod: Pod): EndpointPort[] {
  const ports: EndpointPort[] = [];
  for (const port of service.spec?.ports ?? []) {
    const protocol = port.protocol ?? "TCP";
    const number = targetPort(port.targetPort ?? port.port, protocol, pod);
    // A pod that does not name the port serves the others all the same.
    if (number === undefined) continue;
    const appProtocol = (port as { appProtocol?: string }).appProtocol;
    ports.push({ name: port.name ?? "", port: number, protocol, ...(appProtocol ? { appProtocol } : {}) });
  }
  return ports;
}

function targetPort(target: number | string, protocol: string, pod: Pod): number | undefined {
  if (typeof target === "number") return target;
  const sidecars = (pod.spec?.initContainers ?? []).filter((container) => container.restartPolicy === "Always");
  for (const container of [...(pod.spec?.containers ?? []), ...sidecars]) {
    const found = container.ports?.find((port) => port.name === target && (port.protocol ?? "TCP") === protocol);
    if (found) return found.containerPort;
  }
  return undefined;
}

/** The same for the same ports, whatever their order. */
export function portsKey(ports: readonly EndpointPort[]): string {
  const parts = ports.map((port) => JSON.stringify([port.name, port.port, port.protocol, port.appProtocol])).sort();
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);
}

function endpointOf(service: Service, pod: Pod, address: string, nodeOf: (name: string) => Node | undefined): Endpoint {
  const serving = isReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = (service.spec?.publishNotReadyAddresses ?? false) || (serving && !terminating);
  const nodeName = pod.spec?.nodeName;
  const zone = nodeName ? nodeOf(nodeName)?.metadata.labels?.["topology.kubernetes.io/zone"] : undefined;
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  const isNamed =
    pod.spec?.hostname && pod.spec.subdomain === service.metadata.name && namespace === service.metadata.namespace;
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    ...(isNamed && pod.spec?.hostname ? { hostname: pod.spec.hostname } : {}),
    ...(nodeName ? { nodeName } : {}),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(zone ? { zone } : {}),
  };
}
