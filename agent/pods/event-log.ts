// Remembers the last events of each pod while it passes them on, so that this node can show them by itself, also with no API server
// in reach. Bounded: the oldest go first.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { EventSubject, Recorder } from "../model/recorder.ts";

export interface LoggedEvent {
  /** Wall times in milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Empty when it is about the whole pod. */
  readonly container: string;
}

const mostPods = 500;
const mostEvents = 20;

export class EventLog implements Recorder {
  readonly #next: Recorder;
  readonly #clock: Clock;
  readonly #byUid = new Map<string, LoggedEvent[]>();

  constructor(next: Recorder, clock: Clock) {
    this.#next = next;
    this.#clock = clock;
  }

  event(...[subject, type, reason, message, options]: Parameters<Recorder["event"]>): void {
    this.#next.event(subject, type, reason, message, options);
    if (subject.kind !== undefined && subject.kind !== "Pod") return;
    this.#remember(subject, { type, reason, message, container: containerIn(options?.fieldPath) });
  }

  /** Newest last. */
  of(podUid: string): readonly LoggedEvent[] {
    return this.#byUid.get(podUid) ?? [];
  }

  #remember({ metadata }: EventSubject, told: Omit<LoggedEvent, "firstAt" | "lastAt" | "count">): void {
    const { uid } = metadata;
    if (!uid) return;
    const events = this.#byUid.get(uid) ?? [];
    const at = this.#clock.now();
    const known = events.findIndex(
      ({ reason, message, container }) =>
        reason === told.reason && message === told.message && container === told.container,
    );
    const [before] = known < 0 ? [] : events.splice(known, 1);
    events.push({ ...told, firstAt: before?.firstAt ?? at, lastAt: at, count: (before?.count ?? 0) + 1 });
    if (events.length > mostEvents) events.shift();
    this.#byUid.delete(uid);
    this.#byUid.set(uid, events);
    const [oldest] = this.#byUid.keys();
    if (this.#byUid.size > mostPods && oldest !== undefined) this.#byUid.delete(oldest);
  }
}

/** `spec.containers{web}` -> `web`. */
function containerIn(fieldPath: string | undefined): string {
  return /\{(.*)\}$/.exec(fieldPath ?? "")?.[1] ?? "";
}
