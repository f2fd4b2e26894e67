// Starts one container: image, environment, mounts, config, create, start, postStart. Each step that fails has upstream's reason.

import { join } from "node:path";
import { CreateContainerRequest, Mount, type PodSandboxConfig } from "../../cri/api/gen/runtime.js";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { containerConfig } from "../containers/container-config.ts";
import { environmentOf } from "../containers/environment.ts";
import { hostsFile } from "../containers/hosts-file.ts";
import { makeLogDirectory } from "../containers/log-files.ts";
import { makeMessageFile, writeHostsFile } from "../containers/mounted-files.ts";
import { containerLogPath, messageDir, podLogDir } from "../model/identity.ts";
import { mountsOf } from "../containers/mounts.ts";
import type { PresentImage } from "../images/image-manager.ts";
import { newestOf, type ObservedPod } from "../model/observed.ts";
import type { MountedVolume } from "../model/mounted-volume.ts";
import { type AgentPod, imageVolumesOf, podName } from "../model/agent-pod.ts";
import type { PodDeps } from "./deps.ts";
import { HookRunner } from "./hooks.ts";
import type { Killer } from "./killer.ts";
import { ownUsersOf } from "../node/contract.ts";
import { about } from "../model/recorder.ts";
import { StartFailure } from "../model/start-failure.ts";

// Making and starting a container is not cut short when the pod is deleted meanwhile: half-made ones are harder to clean up than whole ones.
const runtimeTimeoutMs = 120_000;

export interface ContainerStart {
  readonly pod: AgentPod;
  readonly container: Container;
  readonly restartCount: number;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly podIps: readonly string[];
  readonly observed: ObservedPod | undefined;
  readonly image: Promise<PresentImage>;
  readonly volumes: Promise<ReadonlyMap<string, MountedVolume>>;
}

export async function startContainer(deps: PodDeps, killer: Killer, start: ContainerStart, call: Call): Promise<void> {
  const { pod, container } = start;
  const [image, volumes] = await Promise.all([start.image, start.volumes]);
  const config = await makeConfig(deps, start, image, volumes, call);
  call.signal.throwIfAborted();
  const lasting = within(runtimeTimeoutMs);
  const where = about(pod, container.name);
  const { runtime, recorder } = deps;
  const request = CreateContainerRequest.create({
    podSandboxId: start.sandboxId,
    config,
    sandboxConfig: start.sandboxConfig,
  });
  const { containerId } = await runtime.runtime.createContainer(request, lasting).catch((error: unknown) => {
    throw failure(deps, start, "CreateContainerError", withImageHint(pod, container, error));
  });
  recorder.event(pod, "Normal", "Created", `Created container: ${container.name}`, where);
  await runtime.runtime.startContainer({ containerId }, lasting).catch((error: unknown) => {
    deps.pleg.refused(pod.metadata.uid, containerId);
    throw failure(deps, start, "RunContainerError", error);
  });
  recorder.event(pod, "Normal", "Started", `Started container ${container.name}`, where);
  await tellHooks(deps, start, containerId, call);
  await postStart(deps, killer, start, containerId, call);
}

/** A runtime that cannot mount images takes them for host paths without a name, and says nothing that would help. */
function withImageHint(pod: AgentPod, container: Container, error: unknown): unknown {
  const [volume] = imageVolumesOf(pod, container);
  if (!volume || !(error instanceof Error)) return error;
  const needs = "mounting an image needs containerd 2.1, CRI-O 1.31 or the native runtime";
  return new Fault("unsupported", `Cannot mount image "${volume.reference}" as a volume: ${needs}: ${error.message}`, {
    cause: error,
  });
}

/** A hook that fails is told of; the container runs on. */
async function tellHooks(deps: PodDeps, start: ContainerStart, id: string, call: Call): Promise<void> {
  const { pod, container } = start;
  const { name } = container;
  const logPath = join(podLogDir(deps.node.logsDir, pod.metadata), containerLogPath(name, start.restartCount));
  for (const hook of deps.hooks) {
    try {
      await hook.started?.(pod, { name, id, logPath }, call);
    } catch (error) {
      if (call.signal.aborted) throw error;
      const message = `Hook "${hook.name}" failed: ${error instanceof Error ? error.message : String(error)}`;
      deps.recorder.event(pod, "Warning", "FailedPodHook", message, about(pod, name));
    }
  }
}

function failure(deps: PodDeps, start: ContainerStart, reason: string, error: unknown): StartFailure {
  if (error instanceof StartFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  deps.recorder.event(start.pod, "Warning", "Failed", `Error: ${message}`, about(start.pod, start.container.name));
  return new StartFailure(reason, message, error);
}

async function makeConfig(
  deps: PodDeps,
  start: ContainerStart,
  image: PresentImage,
  volumes: ReadonlyMap<string, MountedVolume>,
  call: Call,
) {
  const { pod, container, podIps } = start;
  const { node } = deps;
  try {
    const facts = { pod, podIps, hostIps: node.hostIps(), nodeName: node.nodeName, allocatable: node.allocatable() };
    const [own, allotment] = await Promise.all([
      environmentOf(container, facts, deps.objects, call),
      deps.resources.allot(pod, container, call),
    ]);
    const environment = new Map([...own, ...allotment.environment]);
    const [hosts, messageFile] = await Promise.all([hostsFileOf(deps, start), messageFileOf(deps, start)]);
    makeLogDirectory(join(podLogDir(node.logsDir, pod.metadata), containerLogPath(container.name, start.restartCount)));
    const hasRecursiveReadOnly = node.hasRecursiveReadOnly(start.runtimeHandler);
    const mountFacts = { volumes, environment, hostsFile: hosts, messageFile, hasRecursiveReadOnly };
    const mounts = await mountsOf(
      pod,
      container,
      mountFacts,
      (request, inner) => deps.volumes.subPath(request, inner),
      call,
    );
    const deviceMounts = allotment.mounts.map(({ readOnly, ...mount }) =>
      Mount.create({ ...mount, readonly: readOnly }),
    );
    const blockDevices = (container.volumeDevices ?? []).map((device) => ({
      hostPath: volumes.get(device.name)?.hostPath ?? "",
      containerPath: device.devicePath,
      permissions: "mrw",
    }));
    const target = targetOf(start);
    return containerConfig(pod, container, {
      ...node,
      memoryCapacityBytes: node.memoryCapacityBytes,
      restartCount: start.restartCount,
      imageRef: image.ref,
      imageUser: image,
      environment,
      mounts: [...mounts, ...deviceMounts],
      devices: [...allotment.devices, ...blockDevices],
      cdiDevices: allotment.cdiDevices,
      annotations: allotment.annotations,
      cpuset: allotment.cpuset,
      runtimeHandler: start.runtimeHandler,
      ...ownUsersOf(node, pod),
      volumeGroups: deps.volumes.supplementalGroups(pod.metadata.uid),
      ...(target ? { targetId: target } : {}),
    });
  } catch (error) {
    throw failure(deps, start, "CreateContainerConfigError", error);
  }
}

/** The id of the container whose processes an ephemeral container asks to see. */
function targetOf(start: ContainerStart): string | undefined {
  const { targetContainerName } = start.container as { targetContainerName?: string };
  return targetContainerName ? newestOf(start.observed, targetContainerName)?.id : undefined;
}

async function hostsFileOf(deps: PodDeps, { pod, container, podIps }: ContainerStart): Promise<string | undefined> {
  if ((container.volumeMounts ?? []).some((mount) => mount.mountPath === "/etc/hosts")) return undefined;
  const path = join(deps.node.podsDir, pod.metadata.uid, "etc-hosts");
  const hostFile = pod.spec.hostNetwork ? deps.node.hostsFile() : "";
  await writeHostsFile(path, hostsFile(pod, { podIps, clusterDomain: deps.node.clusterDomain, hostFile }));
  return path;
}

async function messageFileOf(deps: PodDeps, { pod, container }: ContainerStart): Promise<string | undefined> {
  if (container.terminationMessagePath === "") return undefined;
  return makeMessageFile(messageDir(deps.node.podsDir, pod.metadata.uid, container.name));
}

async function postStart(
  deps: PodDeps,
  killer: Killer,
  start: ContainerStart,
  containerId: string,
  call: Call,
): Promise<void> {
  const { pod, container } = start;
  const handler = container.lifecycle?.postStart;
  if (!handler) return;
  const podIp = (pod.spec.hostNetwork ? deps.node.hostIps() : start.podIps)[0] ?? "";
  try {
    await new HookRunner(deps.runtime.runtime, deps.clock).run(handler, { container, containerId, podIp }, call);
  } catch (error) {
    if (call.signal.aborted) throw error;
    deps.log.warn({ pod: podName(pod), container: container.name, err: error }, "postStart hook failed");
    deps.recorder.event(pod, "Warning", "FailedPostStartHook", "PostStartHook failed", about(pod, container.name));
    deps.pleg.touch(pod.metadata.uid);
    const observed = await deps.pleg.observe(pod.metadata.uid, call);
    const running = observed?.containers.find(({ id }) => id === containerId);
    const kill = { reason: "definition", message: "FailedPostStartHook" } as const;
    if (observed && running) await killer.killContainer(pod, observed, running, kill, call);
    throw new StartFailure("PostStartHookError", error instanceof Error ? error.message : String(error), error);
  }
}
