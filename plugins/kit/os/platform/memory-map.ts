// Reads /proc/PID/smaps: where parts of files are mapped into a program's memory.

export interface Mapping {
  readonly start: bigint;
  readonly bytes: number;
}

/** What is mapped of the file, cannot be written, and is as it stands in the file: nothing of it is lost when its memory is given back. */
export function unchangedMappings(smaps: string, file: string): Mapping[] {
  const found: Mapping[] = [];
  let candidate: Mapping | undefined;
  for (const line of smaps.split("\n")) {
    const head = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)$/.exec(line);
    if (head) {
      const [, start = "", end = "", access = "", path] = head;
      const isCandidate = path === file && (access === "r--p" || access === "r-xp");
      const from = BigInt(`0x${start}`);
      candidate = isCandidate ? { start: from, bytes: Number(BigInt(`0x${end}`) - from) } : undefined;
    } else if (candidate && /^Anonymous: +0 kB$/.test(line)) found.push(candidate);
  }
  return found;
}
