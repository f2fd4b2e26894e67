// Gives memory that the program has freed back to the system. The C library keeps freed blocks for later; after a busy time that is what the
// compilers of the JavaScript engine worked with, up to 30 MB that nothing will ask for again.

import koffi from "koffi";
import type { Clock } from "../clock.ts";

export interface SpareMemory {
  residentBytes(): number;
  giveBack(): void;
}

const lookEveryMs = 10_000;
/** Less is not worth the millisecond that it takes. */
const worthBytes = 4 * 1024 * 1024;

/** Looks now and then, and gives back when the program has grown. Returns what ends it. */
export function keepGivingBack(clock: Clock, memory = systemMemory()): () => void {
  if (!memory) return () => {};
  let least = memory.residentBytes();
  let cancel: () => void;
  const look = () => {
    if (memory.residentBytes() - least >= worthBytes) {
      memory.giveBack();
      least = memory.residentBytes();
    } else least = Math.min(least, memory.residentBytes());
    cancel = clock.after(lookEveryMs, look);
  };
  cancel = clock.after(lookEveryMs, look);
  return () => cancel();
}

/** Undefined where the C library has no such call, as musl. */
function systemMemory(): SpareMemory | undefined {
  try {
    const trim = koffi.load("libc.so.6").func("int malloc_trim(size_t)");
    return { residentBytes: () => process.memoryUsage.rss(), giveBack: () => void trim(0) };
  } catch {
    // It runs as well without.
    return undefined;
  }
}
