// Runs work over a list, a few at once. The first failure stops the rest, and is thrown when all have ended.

import type { Call } from "../../../plugins/kit/base/call.ts";

export async function inParallel<T>(
  items: readonly T[],
  width: number,
  call: Call,
  work: (item: T, call: Call) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const inner = { signal: AbortSignal.any([call.signal, stop.signal]) };
  const queue = [...items];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined && failures.length === 0; item = queue.shift()) {
      try {
        await work(item, inner);
      } catch (error) {
        failures.push(error);
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  call.signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
}
