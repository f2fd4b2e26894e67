// CRI's RuntimeService over the daemon: the table of RPCs, each in a file of its own where it is more than a line.

import type { RuntimeService } from "../api/contract.ts";
import { CgroupDriver, RuntimeConfigResponse, StatusResponse } from "../api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { createContainer } from "./containers/container-create.ts";
import { execSync } from "./containers/container-exec.ts";
import { removeContainer } from "./containers/container-remove.ts";
import { startContainer } from "./containers/container-start.ts";
import { listContainers, statusOfContainer } from "./containers/container-status.ts";
import { stopContainer } from "./containers/container-stop.ts";
import { reopenLog, updateContainer } from "./containers/container-update.ts";
import { statsService } from "./containers/stats-service.ts";
import type { Docker } from "./docker.ts";
import type { EngineVersion } from "./engine/types.ts";
import { listSandboxes, statusOfSandbox } from "./sandboxes/sandbox-list.ts";
import { removeSandbox } from "./sandboxes/sandbox-remove.ts";
import { runSandbox } from "./sandboxes/sandbox-run.ts";
import { stopSandbox } from "./sandboxes/sandbox-stop.ts";

const nothing = async (done: Promise<unknown>) => {
  await done;
  return {};
};

export function runtimeService(docker: Docker): RuntimeService {
  return {
    ...statsService(docker),
    async version(_request, call) {
      const { Version } = await docker.engine.get<EngineVersion>("/version", {}, call);
      return { version: "0.1.0", runtimeName: "docker", runtimeVersion: Version, runtimeApiVersion: "v1" };
    },
    status: (request, call) => status(docker, request.verbose, call),
    async runtimeConfig() {
      const isSystemd = docker.info.now().CgroupDriver === "systemd";
      const cgroupDriver = isSystemd ? CgroupDriver.SYSTEMD : CgroupDriver.CGROUPFS;
      return RuntimeConfigResponse.create({ linux: { cgroupDriver } });
    },
    // Pod address ranges belong to the network, which is configured by whoever hands it in.
    updateRuntimeConfig: async () => ({}),
    runPodSandbox: async (request, call) => ({ podSandboxId: await runSandbox(docker, request, call) }),
    stopPodSandbox: (request, call) => nothing(stopSandbox(docker, request.podSandboxId, call)),
    removePodSandbox: (request, call) => nothing(removeSandbox(docker, request.podSandboxId, call)),
    podSandboxStatus: (request, call) => statusOfSandbox(docker, request, call),
    listPodSandbox: (request, call) => listSandboxes(docker, request, call),
    // The pod's own group belongs to the agent, and the sandbox's process takes nothing worth limiting.
    updatePodSandboxResources: (request, call) =>
      nothing(docker.inventory.inspect("sandbox", request.podSandboxId, call)),
    createContainer: async (request, call) => ({ containerId: await createContainer(docker, request, call) }),
    startContainer: (request, call) => nothing(startContainer(docker, request.containerId, call)),
    stopContainer: (request, call) =>
      nothing(stopContainer(docker, request.containerId, Number(request.timeout), call)),
    removeContainer: (request, call) => nothing(removeContainer(docker, request.containerId, call)),
    listContainers: (request, call) => listContainers(docker, request, call),
    containerStatus: (request, call) => statusOfContainer(docker, request, call),
    updateContainerResources: (request, call) => nothing(updateContainer(docker, request, call)),
    reopenContainerLog: (request, call) => nothing(reopenLog(docker, request.containerId, call)),
    async checkpointContainer(request, call) {
      await docker.inventory.inspect("container", request.containerId, call);
      throw new Fault(
        "unsupported",
        "Cannot checkpoint containers: Docker does so only as an experiment, without an archive",
      );
    },
    execSync: (request, call) => execSync(docker, request, call),
    getContainerEvents: (_request, call) => docker.events.listen(call),
  };
}

async function status(docker: Docker, isVerbose: boolean, call: Call): Promise<StatusResponse> {
  const problemOf = async (work: Promise<unknown>) => {
    try {
      await work;
      return "";
    } catch (error) {
      call.signal.throwIfAborted();
      return (error as Error).message;
    }
  };
  // Not "/info", which waits for whatever the daemon is busy with.
  const daemon = await problemOf(docker.engine.ping(call));
  const network = await problemOf(docker.network.status(call));
  const recursiveReadOnlyMounts = daemon === "" && (await docker.engine.speaks(44, call));
  return StatusResponse.create({
    status: {
      conditions: [
        { type: "RuntimeReady", status: daemon === "", reason: daemon && "DockerDaemonNotReady", message: daemon },
        { type: "NetworkReady", status: network === "", reason: network && "NetworkPluginNotReady", message: network },
      ],
    },
    info: isVerbose && daemon === "" ? { config: JSON.stringify(docker.info.now()) } : {},
    runtimeHandlers: ["", "docker"].map((name) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces: false },
    })),
    features: { supplementalGroupsPolicy: false, userNamespacesHostNetwork: false },
  });
}
