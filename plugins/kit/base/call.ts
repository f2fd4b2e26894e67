// Call is what everything that waits takes last: the signal that tells it to stop.

import { clearTimeout, setTimeout } from "node:timers";

export interface Call {
  readonly signal: AbortSignal;
}

const never = new AbortController();

/** For calls that nobody will ever stop, such as those made while closing. */
export const uninterrupted: Call = { signal: never.signal };

// setTimeout takes no more.
const longestTimerMs = 2 ** 31 - 1;

/**
 * A call that stops with the parent, or after the given time by the wall clock. Its timer is our own: of AbortSignal.any() with an
 * AbortSignal.timeout(), Node forgets a time-out that passed while nobody listened as soon as garbage is collected, and waits for ever.
 */
export function within(timeoutMs: number, parent: Call = uninterrupted): Call {
  const { call, end, stop } = branch(parent);
  const timer = setTimeout(
    () => stop(new DOMException("The time is up", "TimeoutError")),
    Math.min(timeoutMs, longestTimerMs),
  );
  timer.unref();
  const settle = () => {
    clearTimeout(timer);
    end();
  };
  if (call.signal.aborted) settle();
  else call.signal.addEventListener("abort", settle, { once: true });
  return call;
}

/**
 * A call of its own for one short piece of work under a call that lives long: runtimes hold on to a signal from everything
 * made with it, and slow down with their number. `end` takes the link away; it may be called twice. `stop` stops this piece alone.
 */
export function branch(parent: Call): { readonly call: Call; end(): void; stop(reason: unknown): void } {
  const controller = new AbortController();
  const onAbort = () => controller.abort(parent.signal.reason);
  if (parent.signal.aborted) onAbort();
  else if (parent !== uninterrupted) parent.signal.addEventListener("abort", onAbort, { once: true });
  return {
    call: controller,
    end: () => parent.signal.removeEventListener("abort", onAbort),
    stop: (reason) => controller.abort(reason),
  };
}

/**
 * Resolves with the work's result, or with undefined once the call is stopped. Promise.race() with a promise that lives as long as the call
 * adds a reaction to it that is never removed, and refers to the result: in a loop that leaks both, once per iteration.
 */
export function unlessStopped<T>(work: Promise<T>, { signal }: Call): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/**
 * What the source gives, until it ends or the call is stopped. A source that is not told of its end (a destroyed socket on some runtimes)
 * is not waited for; whoever made it destroys it.
 */
export async function* untilStopped<T>(source: AsyncIterable<T>, call: Call): AsyncGenerator<T> {
  const items = source[Symbol.asyncIterator]();
  while (!call.signal.aborted) {
    const step = await unlessStopped(items.next(), call);
    if (!step || step.done) return;
    yield step.value;
  }
}
