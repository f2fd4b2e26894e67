// A Service with its endpoints as the proxy sees them: one entry per port and family, with the endpoints that traffic may go to
// from this node. Pure.

import { type Family, tryAddress } from "../../kit/os/net/address.ts";
import { nodeLoadBalancerClass } from "../../kit/kube/node-load-balancer.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import { chooseEndpoints, type Endpoint } from "./endpoints.ts";

type Protocol = "tcp" | "udp" | "sctp";

export interface PortView {
  /** Stable while the port lives: namespace/name:port/family. */
  readonly id: string;
  readonly family: Family;
  readonly protocol: Protocol;
  readonly port: number;
  readonly nodePort: number | undefined;
  readonly clusterIp: string;
  /** Addresses besides the cluster IP, of this family. */
  readonly externalIps: readonly string[];
  readonly loadBalancerIps: readonly string[];
  readonly sourceRanges: readonly string[];
  readonly affinitySeconds: number | undefined;
  readonly isInternalLocal: boolean;
  readonly isExternalLocal: boolean;
  /** For traffic under policy Cluster. */
  readonly endpoints: readonly Endpoint[];
  readonly localEndpoints: readonly Endpoint[];
  readonly localReadyIps: readonly string[];
  /** Whether any node has an endpoint: decides between refusing and dropping. */
  readonly hasAnyEndpoint: boolean;
}

export interface ViewContext {
  readonly nodeName: string;
  readonly zone: string | undefined;
  /** This node's addresses: they stand in for a cloud's load balancer. */
  readonly nodeIps: readonly string[];
  /** Addresses that somebody on the node answers itself, such as cluster DNS. */
  readonly skippedIps: ReadonlySet<string>;
}

const protocols: Readonly<Record<string, Protocol>> = { TCP: "tcp", UDP: "udp", SCTP: "sctp" };
/** With either of these, whatever its value, a service is left to somebody else. */
const foreignLabels = ["service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"];

function isProxied(service: Service): boolean {
  const { clusterIP, type } = service.spec ?? {};
  if (type === "ExternalName" || !clusterIP || clusterIP === "None") return false;
  return foreignLabels.every((label) => service.metadata.labels?.[label] === undefined);
}

export function viewService(service: Service, slices: readonly EndpointSlice[], context: ViewContext): PortView[] {
  if (!isProxied(service)) return [];
  const spec = service.spec ?? {};
  const clusterIps = spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ""];
  const views: PortView[] = [];
  for (const clusterIp of clusterIps) {
    const family = tryAddress(clusterIp)?.family;
    if (!family || context.skippedIps.has(clusterIp)) continue;
    const ofFamily = (addresses: readonly string[] | undefined) =>
      (addresses ?? []).filter((address) => tryAddress(address)?.family === family);
    for (const port of spec.ports ?? []) {
      const protocol = protocols[port.protocol ?? "TCP"];
      if (!protocol) continue;
      const chosen = chooseEndpoints(slices, {
        portName: port.name ?? "",
        protocol: port.protocol ?? "TCP",
        family,
        ...context,
      });
      const hasNodePort = (spec.type === "NodePort" || spec.type === "LoadBalancer") && port.nodePort;
      views.push({
        id: `${service.metadata.namespace}/${service.metadata.name}:${port.port}/${protocol}/${family}`,
        family,
        protocol,
        port: port.port,
        nodePort: hasNodePort ? port.nodePort : undefined,
        clusterIp,
        externalIps: ofFamily(spec.externalIPs),
        loadBalancerIps: spec.type === "LoadBalancer" ? loadBalancerIps(service, ofFamily, context) : [],
        sourceRanges: (spec.loadBalancerSourceRanges ?? [])
          .map((range) => range.trim())
          .filter((range) => range.includes(":") === (family === 6)),
        affinitySeconds:
          spec.sessionAffinity === "ClientIP"
            ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10800)
            : undefined,
        isInternalLocal: spec.internalTrafficPolicy === "Local",
        isExternalLocal: spec.externalTrafficPolicy === "Local",
        ...chosen,
      });
    }
  }
  return views;
}

function loadBalancerIps(
  service: Service,
  ofFamily: (addresses: readonly string[] | undefined) => string[],
  context: ViewContext,
): string[] {
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  const published = ofFamily(ingress.filter(({ ipMode }) => ipMode !== "Proxy").map(({ ip }) => ip ?? ""));
  const loadBalancerClass = service.spec?.loadBalancerClass;
  const isOurs = loadBalancerClass === undefined || loadBalancerClass === nodeLoadBalancerClass;
  return [...new Set([...published, ...(isOurs ? ofFamily(context.nodeIps) : [])])];
}
