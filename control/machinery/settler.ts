// Work that brings something in line, wanted again at every change: one round at a time, and however often it was asked for meanwhile,
// one more after it.

import type { Call } from "../../plugins/kit/base/call.ts";

export interface Settler {
  again(): void;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

/** `onError` hears of a round that failed; the next change tries again. */
export function settler(round: () => Promise<void>, onError: (error: unknown) => void, call: Call): Settler {
  let work = Promise.resolve();
  let isWanted = false;
  return {
    again() {
      if (isWanted) return;
      isWanted = true;
      work = work.then(async () => {
        isWanted = false;
        if (call.signal.aborted) return;
        await round().catch((error: unknown) => {
          if (!call.signal.aborted) onError(error);
        });
      });
    },
    settled: () => work,
  };
}
