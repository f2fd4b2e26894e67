// What a controller is: a name, what wakes it, and a level-driven reconcile of one key. And what it is handed.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { EventRecorder } from "../../plugins/kit/kube/events.ts";
import type { Informer } from "../../plugins/kit/kube/informer.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { ResourceRef } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";

/** Shared informers: one decoded copy of each object in this process, never changed by anyone. */
export interface Informers {
  for<T extends KubeObject | object>(ref: ResourceRef): Informer<T>;
}

export interface ControllerContext {
  readonly client: ApiClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

/** A resource whose changes wake the controller, and which keys each change wakes. */
interface Wake {
  readonly resource: ResourceRef;
  /** Called with the object after the change, and the one before it where there was one; most return `namespace/name`. */
  keys(object: never, previous: never | undefined): readonly string[];
}

/** Told *which*, never *what changed*: reads the world from informers and moves it one step towards the declared state. */
export interface Reconciler {
  readonly name: string;
  readonly wakes: readonly Wake[];
  /** How many keys may be worked on at once; 1 when unset. */
  readonly workers?: number;
  /** Milliseconds until it wants to look again by itself, or undefined. A throw is retried with back-off. */
  reconcile(key: string, call: Call): Promise<number | undefined>;
  /** Long-running side work, such as a timer of its own; ends when the call is stopped. */
  run?(call: Call): Promise<void>;
}

/** Makes a controller when the manager starts it; it may subscribe to informers but must not do work yet. */
export type ControllerFactory = (context: ControllerContext) => Reconciler;
