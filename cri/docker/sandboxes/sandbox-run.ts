// RunPodSandbox: a container that only holds the pod's namespaces, then the network on it. What failed half-way is taken down again.

import {
  ContainerEventType,
  NamespaceMode,
  type PodSandboxConfig,
  type RunPodSandboxRequest,
} from "../../api/gen/runtime.js";
import { checkUserNamespace } from "../../api/request-check.ts";
import { type Call, uninterrupted } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { writeInPlace } from "../../../plugins/kit/os/safe-files/write-in-place.ts";
import { type Docker, nowNs } from "../docker.ts";
import { ensurePauseImage } from "../pause-image.ts";
import { sandboxLabels } from "../labels.ts";
import { defaultCgroup } from "../own-cgroups.ts";
import { emitEvent } from "../runtime-events.ts";
import { checkBandwidth, networkAttachment } from "../../api/network-attachment.ts";
import { resolvConf } from "./sandbox-resolv.ts";
import { discardSandbox } from "./sandbox-stop.ts";
import { namespaceModes } from "./sandbox-view.ts";

export async function runSandbox(docker: Docker, request: RunPodSandboxRequest, call: Call): Promise<string> {
  const { config, runtimeHandler } = request;
  if (!config?.metadata) throw new Fault("invalid", "Cannot run sandbox: its config has no metadata");
  if (runtimeHandler !== "" && runtimeHandler !== "docker")
    throw new Fault("not-found", `Cannot run sandbox: there is no runtime handler "${runtimeHandler}"`);
  const user = config.linux?.securityContext?.namespaceOptions?.usernsOptions;
  checkBandwidth(config.annotations);
  checkUserNamespace(user);
  if (user?.mode === NamespaceMode.POD && user.uids.length > 0)
    throw new Fault("unsupported", "Cannot run sandbox: Docker has no user namespaces of a pod's own");
  await ensurePauseImage(docker.engine, docker.sandboxImage, call);
  const { Id: id } = await docker.engine.call<{ Id: string }>(
    "POST",
    "/containers/create",
    { query: { name: sandboxName(docker, config) }, body: sandboxBody(docker, config, runtimeHandler) },
    call,
  );
  docker.unfinished.add(id);
  try {
    await make(docker, id, config, call);
  } catch (error) {
    await discardSandbox(docker, id, config, uninterrupted);
    throw error;
  } finally {
    docker.unfinished.delete(id);
  }
  for (const type of [ContainerEventType.CONTAINER_CREATED_EVENT, ContainerEventType.CONTAINER_STARTED_EVENT])
    await emitEvent(docker, { id, sandboxId: id, type });
  return id;
}

/** Taken once per attempt: the daemon refuses a second of the same name. */
function sandboxName(docker: Docker, { metadata }: PodSandboxConfig): string {
  const words = [metadata?.name, metadata?.namespace, metadata?.uid, metadata?.attempt];
  return `skiff-${docker.instance}_POD_${words.join("_").replace(/[^\w.-]/g, "-")}`;
}

function sandboxBody(docker: Docker, config: PodSandboxConfig, runtimeHandler: string) {
  const modes = namespaceModes(config);
  const isHostNetwork = modes.network === NamespaceMode.NODE;
  return {
    Image: docker.sandboxImage,
    ...(isHostNetwork || !config.hostname ? {} : { Hostname: config.hostname }),
    Labels: sandboxLabels(docker.instance, { config, runtimeHandler, createdAt: nowNs(docker.clock) }),
    HostConfig: {
      NetworkMode: isHostNetwork ? "host" : "none",
      UTSMode: isHostNetwork ? "host" : "",
      IpcMode: modes.ipc === NamespaceMode.NODE ? "host" : "shareable",
      CgroupParent: config.linux?.cgroupParent || defaultCgroup(docker, config),
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: true,
      Sysctls: { ...config.linux?.sysctls },
      // The last of a pod to be killed when memory is short.
      OomScoreAdj: Math.max(-998, docker.host.lowestOomScoreAdj),
      LogConfig: { Type: "none" },
    },
  };
}

async function make(docker: Docker, id: string, config: PodSandboxConfig, call: Call): Promise<void> {
  await docker.engine.call("POST", `/containers/${id}/start`, {}, call);
  const seen = await docker.inventory.inspect("sandbox", id, call);
  // The daemon's own file, which every container that joins this one's network sees.
  const text = resolvConf(config.dnsConfig);
  if (text !== undefined) await writeInPlace(seen.ResolvConfPath, Buffer.from(text), 0o644);
  if (namespaceModes(config).network === NamespaceMode.NODE) return;
  const result = await docker.network.add(networkAttachment(id, `/proc/${seen.State.Pid}/ns/net`, config), call);
  docker.addresses.set(
    id,
    (result.ips ?? []).map(({ address }) => address.split("/")[0] as string),
  );
}
