// The subsets of a service's Endpoints, from the same groups that its slices are made of. Pure.

import type { Endpoint, EndpointGroup, EndpointPort } from "../endpoint-slice/desired.ts";

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

/** A subset for each set of addresses that share ports: a port that only some pods have makes a subset of its own. */
export function subsetsOf(groups: ReadonlyMap<string, EndpointGroup>): {
  subsets: EndpointSubset[];
  isTruncated: boolean;
} {
  const room = { left: mostAddresses, isTruncated: false };
  const subsets = repack([...groups.values()]).flatMap(({ ports, endpoints }) => {
    const sorted = [...endpoints].sort((a, b) => ((a.addresses[0] ?? "") < (b.addresses[0] ?? "") ? -1 : 1));
    const take = (fitting: readonly Endpoint[]) => {
      const taken = fitting.slice(0, room.left);
      room.left -= taken.length;
      if (taken.length < fitting.length) room.isTruncated = true;
      return taken.map(addressOf);
    };
    const ready = take(sorted.filter(({ conditions }) => conditions.ready));
    const notReady = take(sorted.filter(({ conditions }) => !conditions.ready && !conditions.terminating));
    if (ready.length + notReady.length === 0) return [];
    return [
      {
        ...(ready.length > 0 ? { addresses: ready } : {}),
        ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
        ...(ports.length > 0 ? { ports: shown(ports) } : {}),
      },
    ];
  });
  return {
    subsets: subsets.sort((a, b) => (JSON.stringify(a.ports) < JSON.stringify(b.ports) ? -1 : 1)),
    isTruncated: room.isTruncated,
  };
}

/** The other way round: from the ports of each pod to the pods of each port, and ports with the same pods together. */
function repack(groups: readonly EndpointGroup[]): { ports: EndpointPort[]; endpoints: Endpoint[] }[] {
  const byPort = new Map<string, { port: EndpointPort | undefined; endpoints: Map<string, Endpoint> }>();
  for (const { ports, endpoints } of groups)
    for (const port of ports.length > 0 ? ports : [undefined]) {
      const key = port ? JSON.stringify([port.name, port.port, port.protocol, port.appProtocol]) : "";
      const known = byPort.get(key) ?? { port, endpoints: new Map<string, Endpoint>() };
      for (const [id, endpoint] of endpoints) known.endpoints.set(id, endpoint);
      byPort.set(key, known);
    }
  const together = Map.groupBy(byPort.values(), ({ endpoints }) => [...endpoints.keys()].sort().join(" "));
  return [...together.values()].map((same) => ({
    ports: same.flatMap(({ port }) => (port ? [port] : [])),
    endpoints: [...(same[0]?.endpoints.values() ?? [])],
  }));
}

function addressOf({ addresses, hostname, nodeName, targetRef }: Endpoint): EndpointAddress {
  return {
    ip: addresses[0] ?? "",
    ...(hostname ? { hostname } : {}),
    ...(nodeName ? { nodeName } : {}),
    ...(targetRef ? { targetRef } : {}),
  };
}

function shown(ports: readonly EndpointPort[]): EndpointPort[] {
  return [...ports]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, ...rest }) => (name ? { name, ...rest } : rest) as EndpointPort);
}
