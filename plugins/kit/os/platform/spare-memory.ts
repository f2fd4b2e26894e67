// Gives memory that the program does not use back to the system. The C library keeps freed blocks for later; after a busy time that is what
// the compilers of the JavaScript engine worked with, up to 30 MB that nothing will ask for again. And of the runtime's own program, half of
// what was touched served the start alone: the pages are in the system's file cache and come back by themselves where one is needed.

import { readFileSync, realpathSync } from "node:fs";
import koffi from "koffi";
import type { Clock } from "../../base/clock.ts";
import { unchangedMappings } from "./memory-map.ts";

export interface SpareMemory {
  residentBytes(): number;
  giveBack(): void;
}

const lookEveryMs = 10_000;
/** Less is not worth the millisecond that it takes. */
const worthBytes = 4 * 1024 * 1024;

/** Looks now and then: gives back after the start, and when the program has grown. Returns what ends it. */
export function keepGivingBack(clock: Clock, memory = systemMemory()): () => void {
  if (!memory) return () => {};
  // Undefined until what was given back and is used after all has come back.
  let least: number | undefined = 0;
  let cancel: () => void;
  const look = () => {
    const resident = memory.residentBytes();
    if (least !== undefined && resident - least >= worthBytes) {
      memory.giveBack();
      least = undefined;
    } else least = Math.min(least ?? resident, resident);
    cancel = clock.after(lookEveryMs, look);
  };
  cancel = clock.after(lookEveryMs, look);
  return () => cancel();
}

const doNotNeed = 4;

/** Undefined where the C library has no such calls, as musl. */
function systemMemory(): SpareMemory | undefined {
  try {
    const libc = koffi.load("libc.so.6");
    const trim = libc.func("int malloc_trim(size_t)");
    const advise = libc.func("int madvise(uintptr_t, size_t, int)");
    const program = realpathSync("/proc/self/exe");
    return {
      residentBytes: () => process.memoryUsage.rss(),
      giveBack: () => {
        trim(0);
        for (const { start, bytes } of unchangedMappings(readFileSync("/proc/self/smaps", "utf8"), program))
          advise(start, bytes, doNotNeed);
      },
    };
  } catch {
    // It runs as well without.
    return undefined;
  }
}
