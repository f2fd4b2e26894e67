// The system's clock for parts that nap between looks: every nap takes a twentieth, so that a test need not wait for the next round.

import { type Clock, systemClock } from "../../plugins/kit/clock.ts";

export const hastyClock: Clock = { ...systemClock, sleep: (delayMs, call) => systemClock.sleep(delayMs / 20, call) };
