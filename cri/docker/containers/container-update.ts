// UpdateContainerResources and ReopenContainerLog.

import type { UpdateContainerResourcesRequest } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Docker } from "../docker.ts";
import { toHostResources } from "./container-resources.ts";

export async function updateContainer(
  docker: Docker,
  request: UpdateContainerResourcesRequest,
  call: Call,
): Promise<void> {
  const seen = await docker.inventory.inspect("container", request.containerId, call);
  const { Status } = seen.State;
  if (Status !== "running" && Status !== "created" && Status !== "paused")
    throw new Fault("conflict", `Cannot update container "${seen.Id}": it is ${Status}`);
  const body = toHostResources(request.linux);
  if (Object.keys(body).length === 0) return;
  await docker.engine.call("POST", `/containers/${seen.Id}/update`, { body }, call);
}

export async function reopenLog(docker: Docker, id: string, call: Call): Promise<void> {
  const seen = await docker.inventory.inspect("container", id, call);
  if (!seen.State.Running)
    throw new Fault("conflict", `Cannot reopen the log of container "${seen.Id}": it is ${seen.State.Status}`);
  docker.logs.reopen(seen.Id);
}
