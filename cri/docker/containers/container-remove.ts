// RemoveContainer: by force when it runs, with the volumes that only it had. Its log file is the caller's.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { Docker } from "../docker.ts";
import { killContainer } from "./container-stop.ts";

export async function removeContainer(docker: Docker, id: string, call: Call): Promise<void> {
  const seen = await docker.inventory.find("container", id, call);
  if (!seen) return;
  if (seen.State.Running) {
    await killContainer(docker, seen.Id, call);
    await docker.logs.drained(seen.Id, call);
  }
  await docker.logs.forget(seen.Id);
  await eraseContainer(docker, seen.Id, call);
}

/** Of either kind. Waits for a removal that someone else has begun. */
export async function eraseContainer(docker: Docker, id: string, call: Call): Promise<void> {
  docker.inventory.forget(id);
  docker.addresses.delete(id);
  for (;;) {
    try {
      await docker.engine.call("DELETE", `/containers/${id}`, { query: { force: true, v: true } }, call);
      return;
    } catch (error) {
      if (isFault(error, "not-found")) return;
      if (!isFault(error, "conflict")) throw error;
    }
    await docker.clock.sleep(20, call);
  }
}
