// StartContainer: once, in a sandbox that is ready. The log is taken over from the first line on.

import { ContainerEventType } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Docker } from "../docker.ts";
import { containerRecord } from "../labels.ts";
import { emitEvent } from "../runtime-events.ts";

export async function startContainer(docker: Docker, containerId: string, call: Call): Promise<void> {
  const seen = await docker.inventory.inspect("container", containerId, call);
  const { config, sandboxId, logPath } = containerRecord(seen.Id, seen.Config.Labels);
  const name = config.metadata?.name;
  if (seen.State.Status !== "created" || seen.State.Error !== "")
    throw new Fault("conflict", `Cannot start container "${name}": it is ${seen.State.Status}, and starts only once`);
  try {
    await docker.engine.call("POST", `/containers/${seen.Id}/start`, {}, call);
  } catch (error) {
    call.signal.throwIfAborted();
    // The daemon tells of no end here, since nothing began.
    await emitEvent(docker, { id: seen.Id, sandboxId, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
    const { code, message } = error as Fault;
    throw new Fault(code ?? "internal", `Cannot start container "${name}": ${message}`, { cause: error });
  }
  docker.logs.start(seen.Id, logPath, seen.Config.Tty);
}
