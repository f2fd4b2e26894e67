// Pressure stall information as the kernel writes it, for the machine and for control groups alike.

export interface PressureLine {
  avg10: number;
  avg60: number;
  avg300: number;
  totalUs: number;
}

export interface Pressure {
  some: PressureLine;
  full: PressureLine;
}

const calm: PressureLine = { avg10: 0, avg60: 0, avg300: 0, totalUs: 0 };

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same for `full`, which CPUs of old kernels lack. */
export function pressureIn(text: string | undefined): Pressure | undefined {
  if (!text) return undefined;
  const line = (kind: string): PressureLine | undefined => {
    const match = new RegExp(`^${kind} avg10=(\\S+) avg60=(\\S+) avg300=(\\S+) total=(\\d+)`, "m").exec(text);
    if (!match) return undefined;
    const [, avg10, avg60, avg300, totalUs] = match.map(Number);
    return { avg10: avg10 ?? 0, avg60: avg60 ?? 0, avg300: avg300 ?? 0, totalUs: totalUs ?? 0 };
  };
  const some = line("some");
  return some && { some, full: line("full") ?? calm };
}
