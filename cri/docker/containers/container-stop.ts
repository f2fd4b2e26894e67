// StopContainer: by its signal, then by force. Resolves when it has ended and its log is whole.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { Docker } from "../docker.ts";

export async function stopContainer(docker: Docker, id: string, graceSeconds: number, call: Call): Promise<void> {
  const seen = await docker.inventory.find("container", id, call);
  if (!seen?.State.Running) return;
  if (graceSeconds <= 0) await killContainer(docker, seen.Id, call);
  else
    await unlessEnded(docker.engine.call("POST", `/containers/${seen.Id}/stop`, { query: { t: graceSeconds } }, call));
  await docker.logs.drained(seen.Id, call);
}

/** At once, and waits for the end. Fine for what has ended, or is gone. */
export async function killContainer(docker: Docker, id: string, call: Call): Promise<void> {
  // Asked before the kill, so that the end cannot be missed.
  const query = { condition: "not-running" };
  await unlessEnded(docker.engine.call("POST", `/containers/${id}/kill`, { query: { signal: "SIGKILL" } }, call));
  await unlessEnded(docker.engine.call("POST", `/containers/${id}/wait`, { query }, call));
}

async function unlessEnded(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    // Not running any more, or removed meanwhile: what was wanted.
    if (!isFault(error, "conflict", "not-found")) throw error;
  }
}
