// Ends tasks that containerd's CRI plugin has lost sight of. When the client of a StartContainer goes away at the wrong moment, containerd
// calls the start off but keeps the task that it had made; from then on it refuses to remove the container for the task's sake, and CRI
// has no call that would end it.

import type { Call } from "../../plugins/kit/base/call.ts";
import { type Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Channel } from "./channel.ts";
import { TasksDefinition } from "./gen/tasks.js";

const headers = { "containerd-namespace": "k8s.io" };
const sigKill = 9;
const settleDelaysMs = [0, 5, 20, 50, 100, 200, 500, 1000, 2000];

interface Waiting {
  sleep(delayMs: number, call: Call): Promise<void>;
}

/** containerd's words are all there is: the code is also that of a container which is just being started. */
export function isLostTask(error: unknown): error is Fault {
  return isFault(error, "conflict") && error.message.includes("cannot delete running task");
}

/** Kills and deletes the container's task; one that is not there is fine. */
export async function endTask(channel: Channel, containerId: string, clock: Waiting, call: Call): Promise<void> {
  const { kill, delete: remove } = TasksDefinition.methods;
  const killed = channel.unary(TasksDefinition, kill, { containerId, signal: sigKill, all: true }, call, headers);
  // It may have ended by itself; whether it is gone shows below.
  await killed.catch(() => {});
  let failure: unknown;
  for (const delayMs of settleDelaysMs) {
    if (delayMs > 0) await clock.sleep(delayMs, call);
    try {
      await channel.unary(TasksDefinition, remove, { containerId }, call, headers);
      return;
    } catch (error) {
      if (isFault(error, "not-found")) return;
      // Until the kill has arrived, deleting is refused.
      failure = error;
    }
  }
  throw failure;
}
