// The system's clock for parts that nap between looks: no nap takes longer than half a second, so that a test need not wait for the next round.

import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";

const longestNapMs = 500;

export const hastyClock: Clock = {
  ...systemClock,
  sleep: (delayMs, call) => systemClock.sleep(Math.min(delayMs, longestNapMs), call),
};
