// Waiting in tests: for a condition, never for a time.

type Truthy<T> = Exclude<T, false | null | undefined | 0 | "">;

/** Resolves with the first truthy answer. A throwing `ask` counts as not yet; the last error is told when time is up. */
export async function until<T>(what: string, ask: () => T | Promise<T>, timeoutMs = 60_000): Promise<Truthy<T>> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    try {
      const answer = await ask();
      if (answer) return answer as Truthy<T>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`still waiting for ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
