// StopPodSandbox: ends the pod's containers, frees its addresses, ends what holds its namespaces. Works after a restart, with nothing
// but the labels, and may be called again after a failure.

import { NamespaceMode, type PodSandboxConfig } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { killContainer } from "../containers/container-stop.ts";
import { eraseContainer } from "../containers/container-remove.ts";
import type { Docker } from "../docker.ts";
import { sandboxRecord } from "../labels.ts";
import { networkAttachment } from "../../api/network-attachment.ts";
import { namespaceModes } from "./sandbox-view.ts";

export async function stopSandbox(docker: Docker, id: string, call: Call): Promise<void> {
  const found = await docker.inventory.find("sandbox", id, call);
  if (!found) return;
  await docker.locks.run(found.Id, async () => {
    const own = await docker.inventory.list("container", call, found.Id);
    await Promise.all(own.filter(({ State }) => State === "running").map(({ Id }) => killContainer(docker, Id, call)));
    // Again, because another may have stopped it while this one waited.
    const seen = await docker.inventory.find("sandbox", found.Id, call);
    if (!seen) return;
    const { config } = sandboxRecord(seen.Id, seen.Config.Labels);
    await detach(docker, seen.Id, seen.State.Running ? seen.State.Pid : undefined, config, call);
    if (seen.State.Running) await killContainer(docker, seen.Id, call);
    docker.inventory.forget(seen.Id);
  });
}

async function detach(
  docker: Docker,
  id: string,
  pid: number | undefined,
  config: PodSandboxConfig,
  call: Call,
): Promise<void> {
  if (namespaceModes(config).network === NamespaceMode.NODE) return;
  await docker.network.del(networkAttachment(id, pid ? `/proc/${pid}/ns/net` : "", config), call);
  docker.addresses.delete(id);
}

/** Takes down what a failed start left, whatever that is. */
export async function discardSandbox(docker: Docker, id: string, config: PodSandboxConfig, call: Call): Promise<void> {
  const seen = await docker.inventory.find("sandbox", id, call);
  await detach(docker, id, seen?.State.Running ? seen.State.Pid : undefined, config, call).catch((error: unknown) =>
    docker.log.warn({ err: error, sandbox: id }, "a sandbox that failed could not be detached"),
  );
  await eraseContainer(docker, id, call);
}
