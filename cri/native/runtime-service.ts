// CRI's RuntimeService: each RPC handed to the file that does it.

import type { RuntimeService } from "../api/contract.ts";
import {
  CgroupDriver,
  type LinuxContainerResources,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandboxStatusResponse,
  RuntimeConfigResponse,
  StatusResponse,
} from "../api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { checkpointContainer } from "./containers/container-checkpoint.ts";
import { createContainer } from "./containers/container-create.ts";
import { noticeExit, removeContainer, stopContainer } from "./containers/container-end.ts";
import { execSync } from "./containers/container-exec.ts";
import { stateOf as containerStateOf, toContainer, toContainerStatus } from "./containers/container-record.ts";
import { startContainer } from "./containers/container-start.ts";
import { updateContainer } from "./containers/container-update.ts";
import { reopenLog } from "./containers/log-reopen.ts";
import { statsService } from "./containers/stats-service.ts";
import { hasLabels } from "./list-filter.ts";
import { type Native, nowNs } from "./native.ts";
import { stateOf as sandboxStateOf, toPodSandbox, toPodSandboxStatus } from "./sandboxes/sandbox-record.ts";
import { runSandbox } from "./sandboxes/sandbox-run.ts";
import { removeSandbox, stopSandbox } from "./sandboxes/sandbox-stop.ts";

export interface RuntimeVersions {
  readonly skiff: string;
}

export function runtimeService(native: Native, versions: RuntimeVersions): RuntimeService {
  return {
    ...statsService(native),
    version: async () => ({
      version: "0.1.0",
      runtimeName: "skiff",
      runtimeVersion: versions.skiff,
      runtimeApiVersion: "v1",
    }),
    status: (request, call) => status(native, request.verbose, call),
    runtimeConfig: async () => RuntimeConfigResponse.create({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } }),
    // Pod address ranges belong to the network, which is configured by whoever hands it in.
    updateRuntimeConfig: async () => ({}),
    runPodSandbox: async (request, call) => ({ podSandboxId: await runSandbox(native, request, call) }),
    async stopPodSandbox(request, call) {
      await stopSandbox(native, request.podSandboxId, call);
      return {};
    },
    async removePodSandbox(request, call) {
      await removeSandbox(native, request.podSandboxId, call);
      return {};
    },
    async podSandboxStatus(request) {
      const record = native.sandboxes.get(request.podSandboxId);
      const own = native.containers
        .list()
        .filter(({ sandboxId, phase }) => sandboxId === record.id && phase !== "making");
      const info: Record<string, string> = request.verbose
        ? { info: JSON.stringify({ namespaces: native.paths.namespaces(record.id), holder: record.holder?.pid ?? 0 }) }
        : {};
      return PodSandboxStatusResponse.create({
        status: toPodSandboxStatus(record),
        info,
        containersStatuses: own.map(toContainerStatus),
        timestamp: nowNs(native.clock),
      });
    },
    async listPodSandbox({ filter }) {
      const found = native.sandboxes
        .list()
        .filter(({ phase }) => phase !== "making")
        .filter(({ id }) => !filter?.id || id.startsWith(filter.id))
        .filter((record) => !filter?.state || sandboxStateOf(record) === filter.state.state)
        .filter(({ config }) => hasLabels(config.labels, filter?.labelSelector));
      return ListPodSandboxResponse.create({ items: found.map(toPodSandbox) });
    },
    async updatePodSandboxResources(request) {
      const record = native.sandboxes.get(request.podSandboxId);
      const linux = record.config.linux;
      if (!linux) return {};
      // The pod's own group belongs to the agent; what is told here is remembered for who asks.
      linux.overhead = request.overhead ?? linux.overhead;
      linux.resources = request.resources ?? linux.resources;
      native.sandboxes.save(record);
      return {};
    },
    createContainer: async (request) => ({ containerId: await createContainer(native, request) }),
    async startContainer(request, call) {
      await startContainer(native, request.containerId, call);
      return {};
    },
    async stopContainer(request, call) {
      await stopContainer(native, request.containerId, Number(request.timeout) * 1000, call);
      return {};
    },
    async removeContainer(request, call) {
      await removeContainer(native, request.containerId, call);
      return {};
    },
    async listContainers({ filter }) {
      const found = native.containers
        .list()
        .filter(({ phase }) => phase !== "making")
        .filter(({ id }) => !filter?.id || id.startsWith(filter.id))
        .filter(({ sandboxId }) => !filter?.podSandboxId || sandboxId.startsWith(filter.podSandboxId))
        .filter((record) => !filter?.state || containerStateOf(record) === filter.state.state)
        .filter(({ config }) => hasLabels(config.labels, filter?.labelSelector));
      return ListContainersResponse.create({ containers: found.map(toContainer) });
    },
    async containerStatus(request) {
      const record = native.containers.get(request.containerId);
      noticeExit(native, record);
      const info: Record<string, string> = request.verbose
        ? {
            info: JSON.stringify({
              pid: record.process?.pid ?? 0,
              conmonPid: record.conmon?.pid ?? 0,
              cgroup: record.cgroup,
            }),
          }
        : {};
      return { status: toContainerStatus(record), info };
    },
    async updateContainerResources(request, call) {
      await updateContainer(native, request.containerId, request.linux as LinuxContainerResources | undefined, call);
      return {};
    },
    async reopenContainerLog(request, call) {
      await reopenLog(native, request.containerId, call);
      return {};
    },
    async checkpointContainer(request, call) {
      await checkpointContainer(native, request, call);
      return {};
    },
    execSync: (request, call) => execSync(native, request, call),
    getContainerEvents: (_request, call) => native.events.listen(call),
  };
}

async function status(native: Native, verbose: boolean, call: Call): Promise<StatusResponse> {
  let reason = "";
  let message = "";
  try {
    await native.network.status(call);
  } catch (error) {
    call.signal.throwIfAborted();
    reason = "NetworkPluginNotReady";
    message = (error as Error).message;
  }
  const problem = native.startConditions.problem();
  return StatusResponse.create({
    status: {
      conditions: [
        {
          type: "RuntimeReady",
          status: problem === undefined,
          reason: problem?.reason ?? "",
          message: problem?.message ?? "",
        },
        { type: "NetworkReady", status: reason === "", reason, message },
      ],
    },
    info: verbose ? { config: JSON.stringify({ root: native.paths.root, programs: native.programs }) } : {},
    runtimeHandlers: ["", "native"].map((name) => ({
      name,
      features: { recursiveReadOnlyMounts: true, userNamespaces: true },
    })),
    features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false },
  });
}
