// Brings a fresh start in line with what is on the daemon: logs go on, and what was left half made is taken down.

import { NamespaceMode } from "../api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { removeContainer } from "./containers/container-remove.ts";
import type { Docker } from "./docker.ts";
import { containerRecord, sandboxRecord } from "./labels.ts";
import { discardSandbox } from "./sandboxes/sandbox-stop.ts";
import { addressesOf, namespaceModes } from "./sandboxes/sandbox-view.ts";

export async function recover(docker: Docker, call: Call): Promise<void> {
  const sandboxes = new Set<string>();
  for (const { Id } of await docker.inventory.list("sandbox", call)) {
    const seen = await docker.inventory.find("sandbox", Id, call);
    if (!seen) continue;
    const { config } = sandboxRecord(Id, seen.Config.Labels);
    const hasNetwork = namespaceModes(config).network === NamespaceMode.NODE || addressesOf(docker, seen).length > 0;
    const isHalfMade = seen.State.Status === "created" || (seen.State.Running && !hasNetwork);
    if (!isHalfMade) sandboxes.add(Id);
    else {
      docker.log.info({ sandbox: Id }, "removing a sandbox that was never finished");
      await discardSandbox(docker, Id, config, call);
    }
  }
  for (const { Id, Labels } of await docker.inventory.list("container", call)) {
    const { sandboxId, logPath } = containerRecord(Id, Labels);
    if (!sandboxes.has(sandboxId)) {
      docker.log.info({ container: Id }, "removing a container whose sandbox is gone");
      await removeContainer(docker, Id, call);
      continue;
    }
    const seen = await docker.inventory.find("container", Id, call);
    // Also of those that ended meanwhile: their last lines are still with the daemon.
    if (seen && seen.State.Status !== "created") docker.logs.start(Id, logPath, seen.Config.Tty);
  }
}
