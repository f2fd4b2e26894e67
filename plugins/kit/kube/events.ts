// Records Kubernetes Events: repeated ones are counted on the same object, similar ones are combined, and a source that
// spams is silenced. Best effort: recording never throws and never blocks its caller.

import type { Call } from "../base/call.ts";
import type { ApiClient } from "./client/api-client.ts";
import type { Clock } from "../base/clock.ts";
import { isFault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { Remembered } from "../base/remembered.ts";
import { resources } from "./objects/resources.ts";
import type { ObjectMeta } from "./objects/types.ts";

/** What an event is about; objects from informers fit. */
export interface EventSubject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: ObjectMeta;
}

export interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly component: string;
  readonly host?: string;
  readonly clock: Clock;
  readonly log: Log;
}

interface Pending {
  readonly key: string;
  readonly subject: EventSubject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly fieldPath: string | undefined;
  readonly at: number;
}

interface Written {
  readonly name: string;
  readonly namespace: string;
  readonly count: number;
}

// Upstream's figures: 25 events at once per object, one more every five minutes; more than ten of one reason in ten
// minutes are combined; 4,096 keys remembered.
const burst = 25;
const refillMs = 300_000;
const similarLimit = 10;
const similarWindowMs = 600_000;
const mostRemembered = 4096;
/** As long as a server keeps an event; one that is repeated later is a new one. */
const writtenMs = 3_600_000;
const mostPending = 1000;
const mostTries = 4;
const retryMs = 5000;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #stop = new AbortController();
  readonly #pending: Pending[] = [];
  readonly #written = new Remembered<Written>({ keepMs: writtenMs, most: mostRemembered });
  /** A bucket that has refilled equals a new one. */
  readonly #buckets = new Remembered<{ tokens: number; at: number }>({
    keepMs: burst * refillMs,
    most: mostRemembered,
  });
  readonly #similar = new Remembered<{ messages: Set<string>; since: number }>({
    keepMs: similarWindowMs,
    most: mostRemembered,
  });
  #sending: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** `at` is when it happened, for what is told only after its effects may have shown; now when absent. */
  event(
    subject: EventSubject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    options: { fieldPath?: string; at?: number } = {},
  ): void {
    const at = options.at ?? this.#options.clock.now();
    if (this.#stop.signal.aborted || !this.#isAllowed(subject, at)) return;
    const combined = this.#isOneOfMany(subject, type, reason, message, at);
    const told = combined ? `(combined from similar events): ${message}` : message;
    const identity = [subjectKey(subject), options.fieldPath, type, reason, combined ? "" : message];
    const key = JSON.stringify(identity);
    this.#pending.push({ key, subject, type, reason, message: told.slice(0, 1024), fieldPath: options.fieldPath, at });
    if (this.#pending.length > mostPending) this.#pending.shift();
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Resolves when everything recorded so far was sent or given up. */
  async flush(): Promise<void> {
    while (this.#sending) await this.#sending;
  }

  /** Gives up what was not sent yet. May be called twice. */
  close(): void {
    this.#stop.abort();
    this.#pending.length = 0;
  }

  #isAllowed(subject: EventSubject, at: number): boolean {
    const key = subjectKey(subject);
    const bucket = this.#buckets.get(key) ?? { tokens: burst, at };
    const tokens = Math.min(burst, bucket.tokens + Math.max(0, at - bucket.at) / refillMs);
    const isAllowed = tokens >= 1;
    this.#buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, at }, at);
    return isAllowed;
  }

  #isOneOfMany(subject: EventSubject, type: string, reason: string, message: string, at: number): boolean {
    const key = JSON.stringify([subjectKey(subject), type, reason]);
    const known = this.#similar.get(key);
    const group = known && at - known.since < similarWindowMs ? known : { messages: new Set<string>(), since: at };
    if (group.messages.size < similarLimit) group.messages.add(message);
    this.#similar.set(key, group, at);
    return group.messages.size >= similarLimit && !group.messages.has(message);
  }

  async #send(): Promise<void> {
    // Leaves the caller's stack first: a fetch in the same process would otherwise begin within it.
    await Promise.resolve();
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) await this.#deliver(next);
  }

  async #deliver(event: Pending): Promise<void> {
    const { clock, log } = this.#options;
    const call: Call = { signal: this.#stop.signal };
    for (let tries = 1; !this.#stop.signal.aborted; tries++) {
      try {
        return await this.#write(event, call);
      } catch (error) {
        const isWorthRetrying = isFault(error, "unavailable", "timeout", "too-many") && tries < mostTries;
        if (!isWorthRetrying || this.#stop.signal.aborted) {
          log.debug({ err: error, reason: event.reason, about: subjectKey(event.subject) }, "event not recorded");
          return;
        }
      }
      try {
        await clock.sleep(retryMs, call);
      } catch {
        return; // Closed while waiting.
      }
    }
  }

  async #write(event: Pending, call: Call): Promise<void> {
    const { client } = this.#options;
    const written = this.#written.get(event.key);
    if (written) {
      const body = { count: written.count + 1, lastTimestamp: timestamp(event.at), message: event.message };
      try {
        await client.patch(resources.events, written, { type: "strategic", body }, call);
        this.#written.set(event.key, { ...written, count: written.count + 1 }, event.at);
        return;
      } catch (error) {
        // The server forgets events after a while: then it is a new one.
        if (!isFault(error, "not-found")) throw error;
      }
    }
    const object = this.#objectFor(event);
    await client.create(resources.events, object, call);
    this.#written.set(event.key, { ...object.metadata, count: 1 }, event.at);
  }

  #objectFor(event: Pending) {
    const { component, host } = this.#options;
    const { subject, type, reason, message, fieldPath, at } = event;
    const { name = "", namespace, uid, resourceVersion } = subject.metadata;
    const eventNamespace = namespace || "default";
    const suffix = (BigInt(Math.floor(at)) * 1_000_000n + BigInt(Math.floor(Math.random() * 1e6))).toString(16);
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${suffix}`, namespace: eventNamespace },
      involvedObject: {
        kind: subject.kind,
        apiVersion: subject.apiVersion,
        namespace,
        name,
        uid,
        resourceVersion,
        fieldPath,
      },
      reason,
      message,
      type,
      source: { component, host },
      firstTimestamp: timestamp(at),
      lastTimestamp: timestamp(at),
      count: 1,
      reportingComponent: component,
      reportingInstance: host ?? "",
    };
  }
}

function subjectKey({ kind, metadata }: EventSubject): string {
  return `${kind ?? ""} ${metadata.namespace ?? ""}/${metadata.name ?? ""} ${metadata.uid ?? ""}`;
}

const timestamp = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
