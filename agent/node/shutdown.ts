// Whether the machine itself is going down, so that pods are ended in order rather than cut off with it.

import type { Call } from "../../plugins/kit/base/call.ts";
import { run } from "../../plugins/kit/os/platform/process.ts";

/** Asked when the agent is told to stop: a plain restart of the agent leaves the containers running. */
export async function isMachineStopping(call: Call): Promise<boolean> {
  try {
    const { stdout } = await run("systemctl", ["is-system-running"], { timeoutMs: 2_000 }, call);
    return stdout.trim() === "stopping";
  } catch {
    // A machine without systemd cannot say: then it is taken for a restart, which ends nobody.
    return false;
  }
}
