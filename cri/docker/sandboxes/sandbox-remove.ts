// RemovePodSandbox: stops it, then removes its containers and itself.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { eraseContainer, removeContainer } from "../containers/container-remove.ts";
import type { Docker } from "../docker.ts";
import { sandboxRecord } from "../labels.ts";
import { removeDefaultCgroup } from "../own-cgroups.ts";
import { stopSandbox } from "./sandbox-stop.ts";

export async function removeSandbox(docker: Docker, id: string, call: Call): Promise<void> {
  const found = await docker.inventory.find("sandbox", id, call);
  if (!found) return;
  await stopSandbox(docker, found.Id, call);
  const own = await docker.inventory.list("container", call, found.Id);
  await Promise.all(own.map(({ Id }) => removeContainer(docker, Id, call)));
  await eraseContainer(docker, found.Id, call);
  const { config } = sandboxRecord(found.Id, found.Config.Labels);
  if (!config.linux?.cgroupParent) await removeDefaultCgroup(docker, config, call);
}
