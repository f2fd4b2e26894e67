// Events are kept for an hour after they were last seen, as upstream keeps them: nobody deletes them otherwise.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { ObjectStorage } from "./object-storage.ts";
import type { WatchCache } from "./watch-cache.ts";

const keptMs = 60 * 60_000;
const sweepEveryMs = 5 * 60_000;
const events = { group: "", plural: "events" };

interface Seen extends KubeObject {
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { lastObservedTime?: string } | null;
}

/** Sweeps until the call is stopped. */
export async function expireEvents(cache: WatchCache, storage: ObjectStorage, clock: Clock, call: Call): Promise<void> {
  while (!call.signal.aborted) {
    try {
      await clock.sleep(sweepEveryMs, call);
    } catch {
      return; // stopped
    }
    for (const entry of cache.cache(events).sorted()) {
      if (clock.now() - lastSeen(entry.glance) < keptMs) continue;
      // An event that is told again meanwhile has another revision, and is looked at anew.
      const decide = (current: { object: KubeObject }) =>
        clock.now() - lastSeen(current.object) < keptMs ? ({ do: "nothing" } as const) : ({ do: "delete" } as const);
      await storage.update(events, entry.namespace, entry.name, decide, call).catch(() => {}); // the next sweep tries again
    }
  }
}

function lastSeen(object: KubeObject): number {
  const event = object as Seen;
  const times = [
    event.series?.lastObservedTime,
    event.lastTimestamp,
    event.eventTime,
    event.metadata.creationTimestamp,
  ];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? "")).filter((time) => !Number.isNaN(time)));
}
