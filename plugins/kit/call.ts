// Call is what everything that waits takes last: the signal that tells it to stop.

export interface Call {
  readonly signal: AbortSignal;
}

const never = new AbortController();

/** For calls that nobody will ever stop, such as those made while closing. */
export const uninterrupted: Call = { signal: never.signal };

/** A call that stops with the parent, or after the given time by the wall clock. */
export function within(timeoutMs: number, parent: Call = uninterrupted): Call {
  return { signal: AbortSignal.any([parent.signal, AbortSignal.timeout(timeoutMs)]) };
}

/**
 * A call of its own for one short piece of work under a call that lives long: runtimes hold on to a signal from everything
 * made with it, and slow down with their number. `end` takes the link away; it may be called twice.
 */
export function branch(parent: Call): { readonly call: Call; end(): void } {
  const controller = new AbortController();
  const onAbort = () => controller.abort(parent.signal.reason);
  if (parent.signal.aborted) onAbort();
  else parent.signal.addEventListener("abort", onAbort, { once: true });
  return { call: controller, end: () => parent.signal.removeEventListener("abort", onAbort) };
}

/**
 * What the source gives, until it ends or the call is stopped. A source that is not told of its end (a destroyed socket on some runtimes)
 * is not waited for; whoever made it destroys it.
 */
export async function* untilStopped<T>(source: AsyncIterable<T>, { signal }: Call): AsyncGenerator<T> {
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  signal.addEventListener("abort", stop, { once: true });
  const items = source[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const step = await Promise.race([items.next(), stopped]);
      if (!step || step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
