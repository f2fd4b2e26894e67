// Pods that wait for a node. Three places: `active` (by priority, then age), `backoff` (tried lately, too soon to try
// again) and `parked` (nothing changed that could help; gated pods too). A pod is in exactly one of them, or being tried.
// An event moves a parked pod on only when it could turn one of the noes it got into a yes.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { anyEvent, type QueueSortPlugin, type WakeEvent } from "../../plugins/kit/contracts/scheduling.ts";
import { prioritySort } from "./queue-order.ts";

export interface QueuedPod {
  readonly key: string;
  pod: Pod;
  attempts: number;
  /** When it was last tried, by the rising clock: the back-off counts from there. */
  triedAt: number;
  /** When it first came, for the order among equals. */
  readonly since: number;
  /** What would wake it while parked; empty for gated pods, which only their own update wakes. */
  wakesOn: ReadonlySet<WakeEvent>;
}

export interface SchedulingQueueOptions {
  readonly clock: Clock;
  readonly initialBackoffMs?: number;
  readonly maxBackoffMs?: number;
  /** A parked pod is tried again after this long even if no event woke it. */
  readonly longestParkedMs?: number;
  /** Who is tried first; by priority and age when absent. */
  readonly sort?: QueueSortPlugin;
}

export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}/${pod.metadata.uid}`;
}

export function isGated(pod: Pick<Pod, "spec">): boolean {
  return (pod.spec?.schedulingGates?.length ?? 0) > 0;
}

export class SchedulingQueue {
  readonly #clock: Clock;
  readonly #initialBackoffMs: number;
  readonly #maxBackoffMs: number;
  readonly #longestParkedMs: number;
  readonly #active: Heap;
  readonly #backoff = new Map<string, () => void>();
  readonly #parked = new Map<string, () => void>();
  readonly #entries = new Map<string, QueuedPod>();
  /** Pods being tried, with the number of events that had come before: later ones may have been missed by the attempt. */
  readonly #trying = new Map<string, number>();
  /** Which one each kind of event was, when it last came. */
  readonly #lastOf = new Map<WakeEvent, number>();
  #eventCount = 0;
  #onActive: (() => void) | undefined;

  constructor(options: SchedulingQueueOptions) {
    this.#clock = options.clock;
    this.#active = new Heap(options.sort ?? prioritySort);
    this.#initialBackoffMs = options.initialBackoffMs ?? 1_000;
    this.#maxBackoffMs = options.maxBackoffMs ?? 10_000;
    this.#longestParkedMs = options.longestParkedMs ?? 5 * 60_000;
  }

  get counts(): { active: number; backoff: number; unschedulable: number; gated: number } {
    const gated = [...this.#parked.keys()].filter((key) => isGated(this.#entries.get(key)?.pod ?? {})).length;
    const unschedulable = this.#parked.size - gated;
    return { active: this.#active.size, backoff: this.#backoff.size, unschedulable, gated };
  }

  /** A pod came or changed. A change of a waiting pod (a gate lifted, a label set) gives it another chance at once. */
  add(pod: Pod): void {
    const key = podKey(pod);
    const known = this.#entries.get(key);
    if (known) {
      const before = known.pod;
      known.pod = pod;
      if (this.#trying.has(key) || !couldMatter(before, pod)) return;
      if (this.#parked.has(key)) {
        this.#unpark(key);
        this.#enter(known);
      }
      return;
    }
    const entry: QueuedPod = { key, pod, attempts: 0, triedAt: 0, since: this.#clock.now(), wakesOn: new Set() };
    this.#entries.set(key, entry);
    this.#enter(entry);
  }

  remove(key: string): void {
    this.#entries.delete(key);
    this.#active.delete(key);
    this.#backoff.get(key)?.();
    this.#backoff.delete(key);
    this.#unpark(key);
    this.#trying.delete(key);
  }

  /** The next pod to try; the caller must end the attempt with `done` or `failed`. Undefined when none waits. */
  pop(): QueuedPod | undefined {
    const entry = this.#active.pop();
    if (!entry) return undefined;
    entry.attempts++;
    entry.triedAt = this.#clock.monotonic();
    this.#trying.set(entry.key, this.#eventCount);
    return entry;
  }

  /** Resolves as soon as a pod is active. */
  whenActive(): Promise<void> {
    if (this.#active.size > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onActive = resolve;
    });
  }

  done(entry: QueuedPod): void {
    this.remove(entry.key);
  }

  /** No node would do: wait for one of the events, or back off at once when one came during the attempt. */
  failed(entry: QueuedPod, wakesOn: ReadonlySet<WakeEvent>): void {
    const seen = this.#trying.get(entry.key) ?? 0;
    this.#trying.delete(entry.key);
    if (!this.#entries.has(entry.key)) return;
    entry.wakesOn = wakesOn;
    if (this.#hasCome(wakesOn, seen)) this.#backOff(entry);
    else this.#park(entry);
  }

  /** The attempt broke (the API server did not answer): try again after the back-off. */
  retry(entry: QueuedPod): void {
    this.#trying.delete(entry.key);
    if (this.#entries.has(entry.key)) this.#backOff(entry);
  }

  /** Something happened in the cluster. */
  wake(event: WakeEvent): void {
    this.#lastOf.set(event, ++this.#eventCount);
    if (this.#parked.size === 0) return;
    const any = anyOf(event);
    for (const key of this.#parked.keys()) {
      const entry = this.#entries.get(key);
      if (!entry || !(entry.wakesOn.has(event) || entry.wakesOn.has(any) || entry.wakesOn.has(anyEvent))) continue;
      this.#unpark(key);
      this.#backOff(entry);
    }
  }

  /** Forgets everyone, timers included: nothing keeps the process alive for a queue that nobody reads. */
  clear(): void {
    for (const key of this.#entries.keys()) this.remove(key);
  }

  /** Whether one of the events came after so many had. */
  #hasCome(wakesOn: ReadonlySet<WakeEvent>, seen: number): boolean {
    for (const [event, at] of this.#lastOf)
      if (at > seen && (wakesOn.has(event) || wakesOn.has(anyOf(event)) || wakesOn.has(anyEvent))) return true;
    return false;
  }

  #enter(entry: QueuedPod): void {
    if (isGated(entry.pod)) return this.#park(entry);
    this.#active.push(entry);
    const notify = this.#onActive;
    this.#onActive = undefined;
    notify?.();
  }

  #backOff(entry: QueuedPod): void {
    const backoffMs = Math.min(this.#maxBackoffMs, this.#initialBackoffMs * 2 ** Math.max(0, entry.attempts - 1));
    const delayMs = entry.triedAt + backoffMs - this.#clock.monotonic();
    if (delayMs <= 0) return this.#enter(entry);
    const cancel = this.#clock.after(delayMs, () => {
      this.#backoff.delete(entry.key);
      this.#enter(entry);
    });
    this.#backoff.set(entry.key, cancel);
  }

  #park(entry: QueuedPod): void {
    const cancel = isGated(entry.pod)
      ? () => {}
      : this.#clock.after(this.#longestParkedMs, () => {
          this.#parked.delete(entry.key);
          this.#enter(entry);
        });
    this.#parked.set(entry.key, cancel);
  }

  #unpark(key: string): void {
    this.#parked.get(key)?.();
    this.#parked.delete(key);
  }
}

const anyOf = (event: WakeEvent): WakeEvent => `${event.slice(0, event.indexOf("/"))}/*`;

/** The scheduler's own writes to a waiting pod (conditions, nominated node) must not wake it. */
function couldMatter(before: Pod, after: Pod): boolean {
  return (
    JSON.stringify(before.spec) !== JSON.stringify(after.spec) ||
    JSON.stringify(before.metadata.labels) !== JSON.stringify(after.metadata.labels) ||
    JSON.stringify(before.metadata.annotations) !== JSON.stringify(after.metadata.annotations)
  );
}

/** A binary heap of entries, most urgent first, with removal by key. */
class Heap {
  #items: QueuedPod[] = [];
  readonly #keys = new Set<string>();
  readonly #sort: QueueSortPlugin;

  constructor(sort: QueueSortPlugin) {
    this.#sort = sort;
  }

  get size(): number {
    return this.#keys.size;
  }

  push(entry: QueuedPod): void {
    if (this.#keys.has(entry.key)) return;
    this.#keys.add(entry.key);
    const items = this.#items;
    let index = items.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#sort.precedes(items[index] as QueuedPod, items[parent] as QueuedPod)) break;
      [items[index], items[parent]] = [items[parent] as QueuedPod, items[index] as QueuedPod];
      index = parent;
    }
  }

  /** Entries whose key was deleted are dropped when they reach the top. */
  pop(): QueuedPod | undefined {
    for (let top = this.#popTop(); top; top = this.#popTop()) if (this.#keys.delete(top.key)) return top;
    return undefined;
  }

  delete(key: string): void {
    if (this.#keys.delete(key))
      this.#items = this.#items
        .filter((entry) => entry.key !== key)
        .sort((a, b) => (this.#sort.precedes(a, b) ? -1 : 1));
  }

  #popTop(): QueuedPod | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (top === undefined || last === undefined || items.length === 0) return top;
    items[0] = last;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let first = index;
      if (left < items.length && this.#sort.precedes(items[left] as QueuedPod, items[first] as QueuedPod)) first = left;
      if (right < items.length && this.#sort.precedes(items[right] as QueuedPod, items[first] as QueuedPod))
        first = right;
      if (first === index) return top;
      [items[index], items[first]] = [items[first] as QueuedPod, items[index] as QueuedPod];
      index = first;
    }
  }
}
