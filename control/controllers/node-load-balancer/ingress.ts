// Which addresses a LoadBalancer Service shows: those of the nodes that are ready. Pure.

import { nodeAddresses, nodeLoadBalancerClass } from "../../../plugins/kit/kube/node-load-balancer.ts";
import type { EndpointSlice, Node, Service } from "../../../plugins/kit/kube/objects/types.ts";

/** True when no node can have this address: published, it would attract the traffic of others. */
export type IsForeign = (address: string) => boolean;

const excludeLabel = "node.kubernetes.io/exclude-from-external-load-balancers";

function isReadyNode(node: Node): boolean {
  return (node.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}

/**
 * Nodes report their addresses themselves. With this mode no node accepts traffic for them but the one that has them: a false
 * report attracts nothing.
 */
const ipMode = "Proxy";

interface Ingress {
  readonly ip: string;
  readonly ipMode: typeof ipMode;
}

/** Nodes that have a ready endpoint of the service. */
function readyNodes({ metadata }: Service, slices: readonly EndpointSlice[]): ReadonlySet<string> {
  const own = slices.filter((slice) => serviceOf(slice) === `${metadata.namespace}/${metadata.name}`);
  const ready = own.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return new Set(ready.map(({ nodeName }) => nodeName ?? ""));
}

/** `namespace/name` of the Service whose endpoints these are. */
export const serviceOf = ({ metadata }: EndpointSlice): string =>
  `${metadata.namespace}/${metadata.labels?.["kubernetes.io/service-name"] ?? ""}`;

/** Whether its addresses depend on where its endpoints are: other nodes drop what comes in for it. */
export const isLocalBalancer = ({ spec }: Service): boolean =>
  spec?.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";

export interface IngressViews {
  readonly nodes: readonly Node[];
  readonly slices: readonly EndpointSlice[];
  readonly isForeign: IsForeign;
}

/** The ingress that the service should show, or undefined when it is not ours to say. */
export function wantedIngress(service: Service, { nodes, slices, isForeign }: IngressViews): Ingress[] | undefined {
  const { type, loadBalancerClass, ipFamilies } = service.spec ?? {};
  if (loadBalancerClass !== undefined && loadBalancerClass !== nodeLoadBalancerClass) return undefined;
  // A service that was a load balancer, and is none any more, has no address of one.
  if (type !== "LoadBalancer") return service.status?.loadBalancer?.ingress?.length ? [] : undefined;
  const isWanted = (ip: string) =>
    (!ipFamilies?.length || ipFamilies.includes(ip.includes(":") ? "IPv6" : "IPv4")) && !isForeign(ip);
  const local = isLocalBalancer(service) ? readyNodes(service, slices) : undefined;
  const ips = nodes
    .filter((node) => isReadyNode(node) && node.metadata.labels?.[excludeLabel] === undefined)
    .filter(({ metadata }) => local?.has(metadata.name ?? "") ?? true)
    .flatMap(nodeAddresses)
    .filter(isWanted);
  return [...new Set(ips)].sort().map((ip) => ({ ip, ipMode }));
}

export function isSameIngress(service: Service, wanted: readonly Ingress[]): boolean {
  const now = service.status?.loadBalancer?.ingress ?? [];
  return (
    now.length === wanted.length &&
    wanted.every((each) => now.some(({ ip, ipMode: mode }) => ip === each.ip && mode === each.ipMode))
  );
}

/** What of a node decides; heartbeats do not. */
export function ingressFacts(node: Node): string {
  return JSON.stringify([isReadyNode(node), nodeAddresses(node), node.metadata.labels?.[excludeLabel]]);
}
