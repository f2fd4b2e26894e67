// CreateContainer.

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CreateContainerRequest } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type Docker, nowNs } from "../docker.ts";
import { requireImage } from "../images/image-view.ts";
import { containerLabels, sandboxRecord } from "../labels.ts";
import { defaultCgroup } from "../own-cgroups.ts";
import { containerBody } from "./container-body.ts";

export async function createContainer(docker: Docker, request: CreateContainerRequest, call: Call): Promise<string> {
  const { config } = request;
  if (!config?.metadata) throw new Fault("invalid", "Cannot create container: its config has no metadata");
  const { name, attempt } = config.metadata;
  const sandbox = await docker.inventory.inspect("sandbox", request.podSandboxId, call);
  if (!sandbox.State.Running)
    throw new Fault("conflict", `Cannot create container "${name}": sandbox "${sandbox.Id}" is not ready`);
  const image = await requireImage(docker.engine, config.image?.image ?? "", `create container "${name}"`, call);
  const { config: sandboxConfig } = sandboxRecord(sandbox.Id, sandbox.Config.Labels);
  const logPath = config.logPath ? join(sandboxConfig.logDirectory, config.logPath) : "";
  if (logPath) mkdirSync(dirname(logPath), { recursive: true, mode: 0o755 });
  const labels = containerLabels(docker.instance, {
    config,
    sandboxId: sandbox.Id,
    createdAt: nowNs(docker.clock),
    logPath,
    imageRef: image.RepoDigests?.[0] ?? image.Id,
  });
  const body = containerBody({
    config,
    sandboxId: sandbox.Id,
    sandboxConfig,
    imageId: image.Id,
    labels,
    cgroupParent: sandboxConfig.linux?.cgroupParent || defaultCgroup(docker, sandboxConfig),
    hasLog: logPath !== "",
    host: docker.host,
    knowsRecursive: await docker.engine.speaks(44, call),
  });
  // Taken once per sandbox and attempt: the daemon refuses a second of the same name.
  const query = {
    name: `skiff-${docker.instance}_${name}_${sandbox.Id.slice(0, 16)}_${attempt}`.replace(/[^\w.-]/g, "-"),
  };
  const made = await docker.engine.call<{ Id: string }>("POST", "/containers/create", { query, body }, call);
  return made.Id;
}
