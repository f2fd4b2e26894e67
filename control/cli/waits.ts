// What pods that do not run yet wait for, in the words of their newest events.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Event, Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { ClusterAccess } from "./access.ts";

/** A crowd waits for the same thing, as a rule. */
const mostLines = 10;

/** One line each; none for those that nothing is known of. Events may be kept from who asks: then there are none at all. */
export async function waitLines(access: ClusterAccess, pods: readonly Pod[], call: Call): Promise<string[]> {
  const waiting = pods.filter(({ metadata, status }) => status?.phase === "Pending" && !metadata.deletionTimestamp);
  // A node may not read events.
  if (waiting.length === 0 || access.nodeName) return [];
  const newest = await newestByUid(access, call);
  const lines = waiting.flatMap(({ metadata }) => {
    const message = newest.get(metadata.uid ?? "")?.message;
    return message ? [`  ${metadata.namespace}/${metadata.name}: ${message.replace(/\s+/g, " ")}`] : [];
  });
  if (lines.length <= mostLines) return lines;
  return [...lines.slice(0, mostLines), `  and ${lines.length - mostLines} more that wait`];
}

async function newestByUid({ client }: ClusterAccess, call: Call): Promise<ReadonlyMap<string, Event>> {
  const newest = new Map<string, Event>();
  try {
    const path = `/api/v1/events?fieldSelector=${encodeURIComponent("involvedObject.kind=Pod")}`;
    const { items = [] } = (await (await client.request(path, {}, call)).json()) as { items?: Event[] };
    for (const event of items) {
      const uid = event.involvedObject.uid ?? "";
      const known = newest.get(uid);
      if (!known || timeOf(event) >= timeOf(known)) newest.set(uid, event);
    }
  } catch (error) {
    if (call.signal.aborted) throw error;
  }
  return newest;
}

const timeOf = ({ lastTimestamp, eventTime, metadata }: Event): number =>
  Date.parse(String(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "")) || 0;
