// Runs the controllers: a queue, workers and counters for each, woken by shared informers, all stopped together.
//
// Controllers need no expectations: the API server answers a write only when the shared cache holds it, so a controller that
// looks again always sees what it did, also right after a restart.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Meters } from "../../plugins/kit/base/meters.ts";
import { WorkQueue } from "../../plugins/kit/base/queue.ts";
import type { ControllerContext, ControllerFactory, Reconciler } from "./contract.ts";

interface ControllerCounters {
  /** Keys put in line, however often each. */
  adds: number;
  failures: number;
  /** When each reconcile that is under way began, by the rising clock. */
  readonly beganAt: Set<{ readonly ms: number }>;
}

interface Running {
  readonly reconciler: Reconciler;
  readonly queue: WorkQueue<string>;
  readonly counters: ControllerCounters;
  readonly clock: Clock;
}

export interface ControllerStatus extends Pick<ControllerCounters, "adds" | "failures"> {
  readonly name: string;
  /** Keys in line. */
  readonly depth: number;
  /** How long each reconcile that is under way has taken so far. */
  readonly runningSeconds: readonly number[];
}

/** Seconds. */
const durationLimits = [0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10];

export interface ControllerManagerOptions {
  /** Makes the context that a controller of this name works with: its own identity, log and event source. */
  readonly contextFor: (name: string) => ControllerContext;
  readonly controllers: readonly { readonly name: string; readonly create: ControllerFactory }[];
}

const baseDelayMs = 5;
const maxDelayMs = 5 * 60_000;

export class ControllerManager {
  readonly #options: ControllerManagerOptions;
  readonly #running: Running[] = [];
  readonly #meters = new Meters();
  readonly #queueSeconds = this.#meters.histogram(
    "workqueue_queue_duration_seconds",
    "How long keys waited in line.",
    durationLimits,
  );
  readonly #workSeconds = this.#meters.histogram(
    "workqueue_work_duration_seconds",
    "How long the work on a key took.",
    durationLimits,
  );

  constructor(options: ControllerManagerOptions) {
    this.#options = options;
  }

  /** For metrics: each controller's counters and how many keys wait. */
  status(): ControllerStatus[] {
    return this.#running.map(({ reconciler, queue, counters, clock }) => {
      const { adds, failures } = counters;
      const now = clock.monotonic();
      const runningSeconds = [...counters.beganAt].map(({ ms }) => (now - ms) / 1000);
      return { name: reconciler.name, depth: queue.length, adds, failures, runningSeconds };
    });
  }

  /** How long keys waited in line, and how long the work on them took. */
  durationsText(): string {
    return this.#meters.text();
  }

  /** Works until the call is stopped; may be run again after. */
  async run(call: Call): Promise<void> {
    this.#running.length = 0;
    await Promise.all(this.#options.controllers.map(({ name, create }) => this.#runOne(name, create, call)));
  }

  async #runOne(name: string, create: ControllerFactory, call: Call): Promise<void> {
    const context = this.#options.contextFor(name);
    const reconciler = create(context);
    const counters: ControllerCounters = { adds: 0, failures: 0, beganAt: new Set() };
    const labels = { name: reconciler.name };
    const queue = new WorkQueue<string>({
      clock: context.clock,
      name,
      baseDelayMs,
      maxDelayMs,
      onTaken: (waitedMs) => this.#queueSeconds.observe(labels, waitedMs / 1000),
      onError: (key, error, retryInMs) => {
        counters.failures++;
        context.log.debug({ err: error, key, retryInMs }, "reconcile failed");
      },
    });
    this.#running.push({ reconciler, queue, counters, clock: context.clock });
    const informers = reconciler.wakes.map((wake) => ({
      wake,
      informer: context.informers.for<object>(wake.resource),
    }));
    const stops = informers.map(({ wake, informer }) =>
      informer.onEvent(({ object, previous }) => {
        for (const key of wake.keys(object as never, previous as never)) {
          counters.adds++;
          queue.add(key);
        }
      }),
    );
    try {
      await Promise.all(informers.map(({ informer }) => informer.synced));
      const work = async (key: string, workCall: Call) => {
        const began = { ms: context.clock.monotonic() };
        counters.beganAt.add(began);
        try {
          const againInMs = await reconciler.reconcile(key, workCall);
          if (againInMs !== undefined) {
            counters.adds++;
            queue.addAfter(key, againInMs);
          }
        } finally {
          counters.beganAt.delete(began);
          this.#workSeconds.observe(labels, (context.clock.monotonic() - began.ms) / 1000);
        }
      };
      await Promise.all([queue.run(reconciler.workers ?? 1, work, call), reconciler.run?.(call)]);
    } finally {
      for (const stop of stops) stop();
    }
  }
}
