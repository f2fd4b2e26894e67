// Watches the wall clock: a board without a battery boots with a wrong one, and it is set when the network is there. Nobody waits by it;
// this only says so, and wakes who shows times.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";

const lookMs = 5_000;
/** Less is a correction that nobody needs to hear of. */
const leastStepMs = 60_000;
const dayMs = 86_400_000;

export interface ClockWatchOptions {
  readonly clock: Clock;
  /** It is later than this, in wall milliseconds: when the program was made, or the node last ran. */
  readonly laterThan: number;
  readonly log: Log;
  readonly onSet: () => void;
}

export async function watchClock({ clock, laterThan, log, onSet }: ClockWatchOptions, call: Call): Promise<void> {
  // Time zones and rounding of file times are no wrong clock.
  const isWrong = () => clock.now() < laterThan - dayMs;
  if (isWrong()) {
    log.warn(
      { now: text(clock.now()), laterThan: text(laterThan) },
      "the clock is wrong: pods run, but certificates are refused and times are told wrong until it is set",
    );
  }
  for (;;) {
    const bootedAt = clock.now() - clock.monotonic();
    await clock.sleep(lookMs, call).catch(() => {});
    if (call.signal.aborted) return;
    const stepMs = clock.now() - clock.monotonic() - bootedAt;
    if (Math.abs(stepMs) < leastStepMs) continue;
    log.info({ from: text(clock.now() - stepMs), to: text(clock.now()), isWrong: isWrong() }, "the clock was set");
    onSet();
  }
}

function text(ms: number): string {
  return new Date(ms).toISOString();
}
