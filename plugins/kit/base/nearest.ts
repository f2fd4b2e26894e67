// Guesses which known word somebody meant.

/** The known word that the given one most likely meant: a few letters away, whatever the case. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const budget = Math.max(1, Math.floor(word.length / 3));
  const scored = known.map((name) => ({
    name,
    distance: editDistance(word.toLowerCase(), name.toLowerCase(), budget),
  }));
  const best = scored.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= budget ? best.name : undefined;
}

/** Letters to add, drop, change or swap with their neighbour. */
function editDistance(a: string, b: string, budget: number): number {
  if (Math.abs(a.length - b.length) > budget) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? Infinity;
}
