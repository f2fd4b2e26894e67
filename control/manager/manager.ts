// Runs the controllers: a queue, workers and counters for each, woken by shared informers, all stopped together.
//
// Controllers need no expectations: the API server answers a write only when the shared cache holds it, so a controller that
// looks again always sees what it did, also right after a restart.

import type { Call } from "../../plugins/kit/call.ts";
import { WorkQueue } from "../../plugins/kit/queue.ts";
import type { ControllerContext, ControllerFactory, Reconciler } from "./contract.ts";

export interface ControllerCounters {
  /** Keys put in line, however often each. */
  adds: number;
  reconciles: number;
  failures: number;
  /** Milliseconds spent in reconcile, summed. */
  busyMs: number;
  /** How many reconciles took at most so long, by the limits in `durationLimits`; each counted in one place. */
  readonly durations: number[];
}

/** Seconds. */
export const durationLimits = [0.001, 0.01, 0.1, 1, 10] as const;

interface Running {
  readonly reconciler: Reconciler;
  readonly queue: WorkQueue<string>;
  readonly counters: ControllerCounters;
}

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

  constructor(options: ControllerManagerOptions) {
    this.#options = options;
  }

  /** For metrics: each controller's counters and how many keys wait. */
  status(): { name: string; depth: number; counters: ControllerCounters }[] {
    return this.#running.map(({ reconciler, queue, counters }) => ({
      name: reconciler.name,
      depth: queue.length,
      counters,
    }));
  }

  /** Works until the call is stopped; may be run again after. */
  async run(call: Call): Promise<void> {
    this.#running.length = 0;
    await Promise.all(this.#options.controllers.map(({ name, create }) => this.#runOne(name, create, call)));
  }

  async #runOne(name: string, create: ControllerFactory, call: Call): Promise<void> {
    const context = this.#options.contextFor(name);
    const reconciler = create(context);
    const counters: ControllerCounters = {
      adds: 0,
      reconciles: 0,
      failures: 0,
      busyMs: 0,
      durations: durationLimits.map(() => 0),
    };
    const queue = new WorkQueue<string>({
      clock: context.clock,
      name,
      baseDelayMs,
      maxDelayMs,
      onError: (key, error, retryInMs) => {
        counters.failures++;
        context.log.debug({ err: error, key, retryInMs }, "reconcile failed");
      },
    });
    this.#running.push({ reconciler, queue, counters });
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
        const startedAt = context.clock.monotonic();
        counters.reconciles++;
        try {
          const againInMs = await reconciler.reconcile(key, workCall);
          if (againInMs !== undefined) {
            counters.adds++;
            queue.addAfter(key, againInMs);
          }
        } finally {
          const tookMs = context.clock.monotonic() - startedAt;
          counters.busyMs += tookMs;
          const place = durationLimits.findIndex((limit) => tookMs <= limit * 1000);
          if (place >= 0) counters.durations[place] = (counters.durations[place] ?? 0) + 1;
        }
      };
      await Promise.all([queue.run(reconciler.workers ?? 1, work, call), reconciler.run?.(call)]);
    } finally {
      for (const stop of stops) stop();
    }
  }
}
