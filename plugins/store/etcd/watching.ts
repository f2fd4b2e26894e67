// One watch on etcd: a stream that is opened again where it broke off, on whichever member answers.
// Invariant: everything up to `seen` was handed on; a new stream starts at `seen` and what is not newer is dropped.

import type { ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import { Fault, isFault } from "../../kit/base/fault.ts";
import type { Log } from "../../kit/base/log.ts";
import type { StoreEvent } from "../../kit/contracts/store.ts";
import type { Endpoints } from "./endpoints.ts";
import { type Event, EventType, WatchCreateRequest, type WatchRequest, type WatchResponse } from "./gen/etcd.js";
import type { Keys } from "./keys.ts";

export interface Watching {
  readonly endpoints: Endpoints;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly onRevision: (revision: number) => void;
}

type Stream = ClientDuplexStream<WatchRequest, WatchResponse>;

const retryMs = 200;

export async function* watchEtcd(
  parts: Watching,
  prefix: string,
  since: number,
  call: Call,
): AsyncGenerator<readonly StoreEvent[]> {
  let seen = since;
  while (!call.signal.aborted) {
    let stream: Stream | undefined;
    const stop = () => stream?.cancel();
    call.signal.addEventListener("abort", stop, { once: true });
    try {
      stream = await parts.endpoints.watch(call);
      stream.write({ createRequest: createRequest(parts.keys, prefix, seen) });
      for await (const response of stream as AsyncIterable<WatchResponse>) {
        const events = eventsOf(parts.keys, response, seen);
        seen = Math.max(seen, newestIn(response, events));
        parts.onRevision(seen);
        if (events.length > 0) yield events;
        if (call.signal.aborted) return;
      }
    } catch (error) {
      if (call.signal.aborted) return;
      if (isFault(error) && error.code !== "unavailable") throw error;
      parts.log.debug({ err: error as ServiceError, prefix, seen }, "the watch on etcd broke off and is resumed");
      await parts.clock.sleep(retryMs, call).catch(() => {
        // Stopped while waiting: the loop's condition ends it.
      });
    } finally {
      call.signal.removeEventListener("abort", stop);
      // The last listener must take what cancelling raises, or it would end the process.
      stream?.on("error", () => {});
      stream?.cancel();
    }
  }
}

/** Starts one revision early: etcd then refuses whenever anything after `since` may be gone. */
function createRequest(keys: Keys, prefix: string, since: number): WatchCreateRequest {
  return WatchCreateRequest.fromPartial({
    ...keys.range(prefix),
    startRevision: BigInt(Math.max(1, since)),
    progressNotify: true,
    prevKv: true,
  });
}

function eventsOf(keys: Keys, response: WatchResponse, seen: number): StoreEvent[] {
  if (response.compactRevision > 0n) {
    throw new Fault("expired", `Cannot watch from revision ${seen}: etcd compacted up to ${response.compactRevision}`);
  }
  if (response.canceled) throw new Fault("unavailable", `etcd ended the watch: ${response.cancelReason}`);
  return response.events
    .filter((event) => Number(event.kv?.modRevision ?? 0n) > seen)
    .map((event) => eventOf(keys, event));
}

function eventOf(keys: Keys, { type, kv, prevKv }: Event): StoreEvent {
  if (!kv) throw new Fault("internal", "etcd sent an event without a key");
  const revision = Number(kv.modRevision);
  const previous = prevKv && keys.entry(prevKv);
  const isNew = type === EventType.PUT && kv.createRevision === kv.modRevision;
  if (!previous && !isNew) {
    throw new Fault(
      "expired",
      `Cannot watch from before revision ${revision}: what stood there was compacted meanwhile`,
    );
  }
  if (type === EventType.PUT) return { type: "put", revision, entry: keys.entry(kv), previous };
  return { type: "delete", revision, key: keys.text(kv.key), previous: previous as NonNullable<typeof previous> };
}

/** Progress notifications carry no events but say that everything up to their revision was sent. */
function newestIn(response: WatchResponse, events: readonly StoreEvent[]): number {
  const isProgress = !response.created && response.events.length === 0;
  return isProgress ? Number(response.header?.revision ?? 0n) : (events.at(-1)?.revision ?? 0);
}
