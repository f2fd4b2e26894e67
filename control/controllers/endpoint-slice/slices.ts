// From wanted endpoints and the slices that exist to the fewest writes: endpoints stay in their slice, new ones fill slices with
// room, and no slice holds more than a hundred. Pure.

import type { ObjectMeta } from "../../../plugins/kit/objects/types.ts";
import { type Endpoint, type EndpointGroup, type EndpointPort, portsKey } from "./desired.ts";

export interface EndpointSlice {
  readonly metadata: ObjectMeta;
  readonly addressType: string;
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: readonly EndpointPort[] | null;
}

export interface SliceWrites {
  readonly create: { ports: EndpointPort[]; endpoints: Endpoint[] }[];
  readonly update: { slice: EndpointSlice; endpoints: Endpoint[] }[];
  readonly remove: EndpointSlice[];
}

const mostPerSlice = 100;

const idOf = (endpoint: Endpoint) => endpoint.targetRef?.uid ?? endpoint.addresses[0] ?? "";

export function planSlices(
  groups: ReadonlyMap<string, EndpointGroup>,
  existing: readonly EndpointSlice[],
): SliceWrites {
  const writes: SliceWrites = { create: [], update: [], remove: [] };
  const byKey = Map.groupBy(existing, (slice) => portsKey(slice.ports ?? []));
  for (const [key, slices] of byKey) if (!groups.has(key)) writes.remove.push(...slices);
  for (const [key, group] of groups) planGroup(group, byKey.get(key) ?? [], writes);
  return writes;
}

function planGroup(group: EndpointGroup, slices: readonly EndpointSlice[], writes: SliceWrites): void {
  const unplaced = new Map(group.endpoints);
  const kept = slices.map((slice) => {
    const endpoints: Endpoint[] = [];
    for (const endpoint of slice.endpoints ?? []) {
      const wanted = unplaced.get(idOf(endpoint));
      if (!wanted) continue;
      unplaced.delete(idOf(endpoint));
      endpoints.push(wanted);
    }
    return { slice, endpoints };
  });
  // Fullest first: the number of slices stays small.
  const waiting = [...unplaced.values()];
  for (const { endpoints } of [...kept].sort((a, b) => b.endpoints.length - a.endpoints.length)) {
    if (endpoints.length > 0 || waiting.length > 0)
      endpoints.push(...waiting.splice(0, mostPerSlice - endpoints.length));
  }
  while (waiting.length > 0) writes.create.push({ ports: group.ports, endpoints: waiting.splice(0, mostPerSlice) });
  for (const { slice, endpoints } of kept) {
    if (endpoints.length === 0) writes.remove.push(slice);
    else if (JSON.stringify(endpoints) !== JSON.stringify(slice.endpoints)) writes.update.push({ slice, endpoints });
  }
}
