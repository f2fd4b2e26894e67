// What the slices of hand-written Endpoints should hold, by address family. Pure.

import type { Endpoints } from "../../../plugins/kit/kube/objects/types.ts";
import {
  type AddressType,
  type Endpoint,
  type EndpointGroup,
  type EndpointPort,
  portsKey,
} from "../endpoint-slice/desired.ts";

const most = 1000;

export function mirroredGroups(endpoints: Endpoints, family: AddressType): Map<string, EndpointGroup> {
  const groups = new Map<string, EndpointGroup>();
  for (const subset of endpoints.subsets ?? []) {
    const ports: EndpointPort[] = (subset.ports ?? []).map(({ name, port, protocol, appProtocol }) => ({
      name: name ?? "",
      port,
      protocol: protocol ?? "TCP",
      ...(appProtocol ? { appProtocol } : {}),
    }));
    const key = portsKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() };
    const add = (addresses: typeof subset.addresses, ready: boolean) => {
      for (const { ip, hostname, nodeName, targetRef } of addresses ?? []) {
        if (ip.includes(":") !== (family === "IPv6") || group.endpoints.size >= most) continue;
        group.endpoints.set(targetRef?.uid ?? ip, {
          addresses: [ip],
          conditions: { ready, serving: ready, terminating: false },
          ...(hostname ? { hostname } : {}),
          ...(nodeName ? { nodeName } : {}),
          ...(targetRef ? { targetRef: targetRef as NonNullable<Endpoint["targetRef"]> } : {}),
        });
      }
    };
    add(subset.addresses, true);
    add(subset.notReadyAddresses, false);
    if (group.endpoints.size > 0) groups.set(key, group);
  }
  return groups;
}

/** Those that say so themselves, and those that only hold a lock. */
export function isMirrored({ metadata }: Endpoints): boolean {
  return (
    metadata.labels?.["endpointslice.kubernetes.io/skip-mirror"] !== "true" &&
    metadata.annotations?.["control-plane.alpha.kubernetes.io/leader"] === undefined
  );
}
