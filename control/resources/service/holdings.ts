// What a Service has that no other may have: its cluster addresses and its node ports.

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { KubeObject, Service } from "../../../plugins/kit/kube/objects/types.ts";

export function heldAddresses({ spec }: Service): string[] {
  return (spec?.clusterIPs ?? []).filter((address) => address !== "None" && address !== "").map(oneSpelling);
}

/** One number may serve TCP and UDP of the same service. */
export function heldPorts({ spec }: Service): string[] {
  const ports = new Set<number>();
  for (const { nodePort } of spec?.ports ?? []) if (nodePort) ports.add(nodePort);
  if (spec?.healthCheckNodePort) ports.add(spec.healthCheckNodePort);
  return [...ports].map(String);
}

/** An address of IPv6 may be written in many ways. */
export function oneSpelling(address: string): string {
  return isIP(address) === 6 ? ipaddr.parse(address).toString() : address;
}

/** The same as claims, where several servers give them out. */
export function serviceHoldings(object: KubeObject): string[] {
  const service = object as unknown as Service;
  return [
    ...heldAddresses(service).map((address) => `service-addresses/${address}`),
    ...heldPorts(service).map((port) => `node-ports/${port}`),
  ];
}
