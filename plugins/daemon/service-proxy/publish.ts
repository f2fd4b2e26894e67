// LoadBalancer services without a cloud: the addresses of the nodes are published as the service's ingress. One node writes,
// the first by name of those that are ready, so that nodes do not argue.

import type { Node, Service } from "../../kit/objects/types.ts";
import { nodeLoadBalancerClass } from "./service-view.ts";

function isReadyNode(node: Node): boolean {
  return (node.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}

export function nodeAddresses(node: Node): string[] {
  const addresses = node.status?.addresses ?? [];
  const external = addresses.filter(({ type }) => type === "ExternalIP");
  return (external.length > 0 ? external : addresses.filter(({ type }) => type === "InternalIP")).map(
    ({ address }) => address,
  );
}

/** The node that writes, or undefined while none is ready. */
export function writerOf(nodes: readonly Node[]): string | undefined {
  return nodes
    .filter(isReadyNode)
    .map((node) => node.metadata.name ?? "")
    .sort()[0];
}

/** The ingress that the service should show, or undefined when it is not ours to say. */
export function wantedIngress(service: Service, nodes: readonly Node[]): { ip: string }[] | undefined {
  const { type, loadBalancerClass, ipFamilies } = service.spec ?? {};
  if (loadBalancerClass !== undefined && loadBalancerClass !== nodeLoadBalancerClass) return undefined;
  // A service that was a load balancer, and is none any more, has no address of one.
  if (type !== "LoadBalancer") return service.status?.loadBalancer?.ingress?.length ? [] : undefined;
  const isWanted = (ip: string) => !ipFamilies?.length || ipFamilies.includes(ip.includes(":") ? "IPv6" : "IPv4");
  const ips = nodes
    .filter(
      (node) =>
        isReadyNode(node) &&
        node.metadata.labels?.["node.kubernetes.io/exclude-from-external-load-balancers"] === undefined,
    )
    .flatMap(nodeAddresses)
    .filter(isWanted);
  return [...new Set(ips)].sort().map((ip) => ({ ip }));
}

export function isSameIngress(service: Service, wanted: readonly { ip: string }[]): boolean {
  const now = (service.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return now.length === wanted.length && wanted.every(({ ip }) => now.includes(ip));
}
