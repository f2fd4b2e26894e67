// Sets of completion indexes in the short form of a job's status: "0,2-4".

export function parseIndexes(text: string | undefined, completions: number): Set<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (!match) continue;
    const last = Math.min(Number(match[2] ?? match[1]), completions - 1);
    for (let index = Number(match[1]); index <= last; index++) indexes.add(index);
  }
  return indexes;
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === (sorted[end] as number) + 1) end++;
    const [from, to] = [sorted[at] as number, sorted[end] as number];
    if (end === at) parts.push(String(from));
    else parts.push(end === at + 1 ? `${from},${to}` : `${from}-${to}`);
    at = end + 1;
  }
  return parts.join(",");
}

/** The lowest indexes that are neither done, nor failed, nor being worked on. */
export function nextIndexes(count: number, completions: number, taken: (index: number) => boolean): number[] {
  const found: number[] = [];
  for (let index = 0; index < completions && found.length < count; index++) if (!taken(index)) found.push(index);
  return found;
}
