// Keeps a long-running service of the node running: started again with growing delays when it ends.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Daemon } from "../../plugins/kit/contracts/daemon.ts";
import type { Log } from "../../plugins/kit/base/log.ts";

export async function keepRunning(daemon: Daemon, clock: Clock, log: Log, call: Call): Promise<void> {
  let delayMs = 500;
  while (!call.signal.aborted) {
    const startedAt = clock.monotonic();
    try {
      await daemon.run(call);
    } catch (error) {
      if (!call.signal.aborted) log.error({ daemon: daemon.name, err: error }, "a daemon failed and is started again");
    }
    if (clock.monotonic() - startedAt > 60_000) delayMs = 500;
    await clock.sleep(delayMs, call).catch(() => {});
    delayMs = Math.min(delayMs * 2, 30_000);
  }
}
