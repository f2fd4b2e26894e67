// The subsets of a service's Endpoints, from the same groups that its slices are made of. Pure.

import type { EndpointGroup, EndpointPort } from "../endpoint-slice/desired.ts";

interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: { kind: string; namespace: string; name: string; uid: string };
}

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

/** More addresses than this are left to the slices. */
const mostAddresses = 1000;

export function subsetsOf(groups: ReadonlyMap<string, EndpointGroup>): {
  subsets: EndpointSubset[];
  isTruncated: boolean;
} {
  let room = mostAddresses;
  let isTruncated = false;
  const subsets: EndpointSubset[] = [];
  for (const { ports, endpoints } of groups.values()) {
    const sorted = [...endpoints.values()].sort((a, b) => ((a.addresses[0] ?? "") < (b.addresses[0] ?? "") ? -1 : 1));
    const take = (wanted: boolean) => {
      const fitting = sorted.filter(
        ({ conditions }) => conditions.ready === wanted && (wanted || !conditions.terminating),
      );
      const taken = fitting.slice(0, room);
      room -= taken.length;
      if (taken.length < fitting.length) isTruncated = true;
      return taken.map(({ addresses, hostname, nodeName, targetRef }) => ({
        ip: addresses[0] ?? "",
        ...(hostname ? { hostname } : {}),
        ...(nodeName ? { nodeName } : {}),
        ...(targetRef ? { targetRef } : {}),
      }));
    };
    const [ready, notReady] = [take(true), take(false)];
    if (ready.length + notReady.length === 0) continue;
    const shownPorts = [...ports]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, ...rest }) => (name ? { name, ...rest } : rest) as EndpointPort);
    subsets.push({
      ...(ready.length > 0 ? { addresses: ready } : {}),
      ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
      ...(shownPorts.length > 0 ? { ports: shownPorts } : {}),
    });
  }
  return { subsets: subsets.sort((a, b) => (JSON.stringify(a.ports) < JSON.stringify(b.ports) ? -1 : 1)), isTruncated };
}
