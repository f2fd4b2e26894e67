// Slow start: do many alike things in batches that double, so that a quota or a broken template costs a few errors, not thousands.

/**
 * Runs `work` for each index below `count`, 1 at once, then 2, 4 and so on; stops after the first batch with a failure.
 * Resolves with how many succeeded and the first error.
 */
export async function slowStart(
  count: number,
  work: (index: number) => Promise<void>,
): Promise<{ succeeded: number; error?: unknown }> {
  let done = 0;
  let succeeded = 0;
  for (let size = 1; done < count; size *= 2) {
    const batch = Math.min(size, count - done);
    const results = await Promise.allSettled(Array.from({ length: batch }, (_, index) => work(done + index)));
    done += batch;
    succeeded += results.filter((result) => result.status === "fulfilled").length;
    const failure = results.find((result) => result.status === "rejected");
    if (failure) return { succeeded, error: failure.reason };
  }
  return { succeeded };
}
