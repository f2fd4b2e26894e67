// From wanted endpoints and the slices that exist to the fewest writes: endpoints stay in their slice, new ones fill slices with
// room, no slice holds more than a hundred, and what is not needed any more is used again before another is made. Pure.

import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type Endpoint, type EndpointGroup, type EndpointPort, portsKey } from "./desired.ts";

export interface EndpointSlice {
  readonly metadata: ObjectMeta;
  readonly addressType: string;
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: readonly EndpointPort[] | null;
}

interface SliceContent {
  readonly ports: EndpointPort[];
  readonly endpoints: Endpoint[];
}

export interface SliceWrites {
  readonly create: SliceContent[];
  readonly update: (SliceContent & { slice: EndpointSlice })[];
  readonly remove: EndpointSlice[];
}

const mostPerSlice = 100;

const idOf = (endpoint: Endpoint) => endpoint.targetRef?.uid ?? endpoint.addresses[0] ?? "";
const isEmpty = ({ ports, endpoints }: EndpointSlice) => !ports?.length && !endpoints?.length;

/** With `keepsOne` an empty slice stands where there would be none: it tells that somebody looked and found nothing. */
export function planSlices(
  groups: ReadonlyMap<string, EndpointGroup>,
  existing: readonly EndpointSlice[],
  { keepsOne = false } = {},
): SliceWrites {
  const writes: SliceWrites = { create: [], update: [], remove: [] };
  const byKey = Map.groupBy(existing, (slice) => portsKey(slice.ports ?? []));
  for (const [key, slices] of byKey) if (!groups.has(key)) writes.remove.push(...slices);
  for (const [key, group] of groups) planGroup(group, byKey.get(key) ?? [], writes);
  if (keepsOne && writes.create.length === 0 && writes.remove.length === existing.length) {
    const kept = writes.remove.findIndex(isEmpty);
    if (kept >= 0) writes.remove.splice(kept, 1);
    else writes.create.push({ ports: [], endpoints: [] });
  }
  while (writes.create.length > 0 && writes.remove.length > 0) {
    const [content, slice] = [writes.create.pop() as SliceContent, writes.remove.pop() as EndpointSlice];
    writes.update.push({ slice, ...content });
  }
  return writes;
}

function planGroup({ ports, endpoints: wanted }: EndpointGroup, slices: readonly EndpointSlice[], writes: SliceWrites) {
  const unplaced = new Map(wanted);
  const kept = slices.map((slice) => {
    const endpoints: Endpoint[] = [];
    for (const endpoint of slice.endpoints ?? []) {
      const found = unplaced.get(idOf(endpoint));
      if (!found) continue;
      unplaced.delete(idOf(endpoint));
      endpoints.push(found);
    }
    return { slice, endpoints };
  });
  // Fullest first: the number of slices stays small.
  const waiting = [...unplaced.values()];
  for (const { endpoints } of [...kept].sort((a, b) => b.endpoints.length - a.endpoints.length)) {
    if (endpoints.length > 0 || waiting.length > 0)
      endpoints.push(...waiting.splice(0, mostPerSlice - endpoints.length));
  }
  while (waiting.length > 0) writes.create.push({ ports, endpoints: waiting.splice(0, mostPerSlice) });
  for (const { slice, endpoints } of kept) {
    if (endpoints.length === 0) writes.remove.push(slice);
    else if (!deepEqual(endpoints, slice.endpoints)) writes.update.push({ slice, ports, endpoints });
  }
}
