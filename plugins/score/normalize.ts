// Brings raw scores to 0..100, in place.

/** The largest becomes 100; `reverse` makes the smallest raw score the best. */
export function normalizeByMax(scores: number[], reverse = false): void {
  const max = Math.max(0, ...scores);
  for (let index = 0; index < scores.length; index++) {
    const share = max === 0 ? 0 : Math.floor(((scores[index] as number) * 100) / max);
    scores[index] = max === 0 ? (reverse ? 100 : 0) : reverse ? 100 - share : share;
  }
}

/** The smallest becomes 0 and the largest 100; all alike are 0. */
export function normalizeByRange(scores: number[]): void {
  const min = Math.min(...scores);
  const range = Math.max(...scores) - min;
  for (let index = 0; index < scores.length; index++) {
    scores[index] = range === 0 ? 0 : Math.floor((100 * ((scores[index] as number) - min)) / range);
  }
}
