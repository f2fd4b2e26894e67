// A container that has just been started is the OCI runtime's own program for a moment longer. A signal in that moment would end it in the
// program's way (Go's exit code 2), not in the command's.

import { readFileSync } from "node:fs";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";

const patienceMs = 2000;
const lookMs = 5;

/** Resolves when the command stands in the place of the runtime's program, or it is gone, or takes too long. */
export async function untilExecuted(pid: number, clock: Clock): Promise<void> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += lookMs) {
    if (!nameOf(pid)?.startsWith("runc:[")) return;
    await clock.sleep(lookMs, uninterrupted);
  }
}

function nameOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8");
  } catch {
    return undefined; // it has ended
  }
}
