// The node's resources put together: admission, cgroups, devices, CPUs, eviction, log rotation and image garbage collection, behind the
// small contract that pods know.

import { join } from "node:path";
import type { Runtime } from "../../cri/api/contract.ts";
import { LinuxContainerResources } from "../../cri/api/gen/runtime.js";
import { type Call, uninterrupted, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Taint } from "../../plugins/kit/kube/objects/types.ts";
import type { PluginSockets } from "../../plugins/kit/contracts/plugin-sockets.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { annotations } from "../model/identity.ts";
import { removeLogs } from "../containers/log-files.ts";
import { ImageGc } from "../images/image-gc.ts";
import { namesOf } from "../model/image-reference.ts";
import { atLeastZero, reservedOf } from "../model/capacity.ts";
import type { MachineFacts } from "../host/machine.ts";
import type { Pressure } from "../node/node-status.ts";
import type { ObservedPod } from "../model/observed.ts";
import { type AgentPod, containersOf } from "../model/agent-pod.ts";
import { type Allotment, type NodeResources, nothingAllotted } from "./contract.ts";
import { nodeSubject, type Recorder } from "../model/recorder.ts";
import { isTerminalPhase } from "../model/phase.ts";
import type { Verdict } from "../model/verdict.ts";
import { qosClassOf } from "../model/qos.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import { admissionOf, resizeRefusal } from "./admission.ts";
import { systemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import type { CgroupDriver } from "./cgroup-driver.ts";
import { openCgroupFiles } from "./cgroup-files.ts";
import { cgroupfsDriver } from "./cgroupfs-driver.ts";
import { CpuManager, parseCpus } from "./cpu-manager.ts";
import type { DeviceCount } from "./devices/contract.ts";
import { DeviceManager } from "./devices/device-manager.ts";
import { hostDeviceProvider } from "./devices/host-devices.ts";
import { Eviction } from "./eviction.ts";
import { LogRotation } from "./log-rotation.ts";
import { PodCgroups } from "./pod-cgroups.ts";
import { podUsage } from "./pod-usage.ts";
import { driverName } from "./runtime-driver.ts";
import { endAllInTurn, endByPriority, shutdownGroups } from "./shutdown.ts";
import { hostSignals } from "./signals.ts";
import { systemdDriver } from "./systemd-driver.ts";
import type { UserNamespaces } from "./user-namespaces.ts";

export interface ResourcesOptions {
  readonly config: AgentConfig;
  readonly machine: MachineFacts;
  readonly runtime: Runtime;
  readonly dirs: { readonly agent: string; readonly pods: string; readonly logs: string };
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly volumes: VolumeManager;
  readonly users: Pick<UserNamespaces, "release">;
  /** Device plugins may also register in the folder of all plugins. */
  readonly sockets: PluginSockets;
  readonly onEvicted?: (signal: string) => void;
  /** Processes that outlived the containers of their pod were killed. */
  readonly onOrphansKilled?: (processes: number) => void;
  readonly allocatable: () => Readonly<Record<string, string>>;
  readonly labels: () => Readonly<Record<string, string>>;
  readonly taints: () => readonly Taint[];
  readonly observed: () => readonly ObservedPod[];
  /** Resolves when `observed` is complete for the first time. */
  readonly listed: () => Promise<void>;
  readonly pods: () => readonly AgentPod[];
  readonly end: (podUid: string, verdict: Verdict, graceSeconds?: number) => void;
  /** The pod has stopped and given back what it held. */
  readonly isReleased: (podUid: string) => boolean;
  /** Something changed that the node's status shows. */
  readonly onNews: () => void;
}

export interface AgentResources extends NodeResources {
  readonly devices: DeviceManager;
  /** Who makes the cgroups of pods. */
  readonly cgroupDriver: CgroupDriver["name"];
  cgroupParent(pod: AgentPod): string;
  /** Uids of pods that have cgroups but may be long gone. */
  podsWithCgroups(): readonly string[];
  extended(): Readonly<Record<string, DeviceCount>>;
  pressure(): Pressure;
  troubles(): readonly string[];
  run(call: Call): Promise<void>;
  /** Ends every pod, by priority or critical ones last, and waits until they have let go of everything. */
  shutDown(call: Call): Promise<void>;
  /** The machine stays up after all: pods may come again. Those that have ended stay so. */
  cancelShutdown(): void;
  /** Takes the empty tree of cgroups away. */
  removeCgroups(call: Call): Promise<void>;
  /** Lets go of what was opened; groups stay. May be called twice. */
  close(): void;
}

export async function openResources(options: ResourcesOptions): Promise<AgentResources> {
  const { config, machine, runtime, clock, log, pods } = options;
  const node = nodeSubject(config.nodeName);
  let isShuttingDown = false;
  const reserved = reservedOf([config.systemReserved, config.kubeReserved]);
  const driver = await cgroupDriver(options);
  const cgroups = new PodCgroups({
    driver,
    root: config.cgroupRoot,
    clock,
    pods,
    podPids: config.podPids,
    onEnforced: () =>
      options.recorder.event(node, "Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods"),
    onKilled: (podUid, processes) => {
      const message = `Killed ${processes} processes that were left in the cgroup of pod ${podUid} after its containers were gone`;
      const pod = pods().find(({ metadata }) => metadata.uid === podUid);
      log.warn({ uid: podUid, processes }, "killed processes left in the cgroup of a pod");
      options.recorder.event(pod ?? node, "Warning", "KilledOrphanedProcesses", message);
      options.onOrphansKilled?.(processes);
    },
    // What is set aside for the system is kept from the pods by the kernel, not by the scheduler alone.
    allowed: () => ({
      milliCpu: atLeastZero(BigInt(machine.cpus) * 1000n - reserved.milliCpu),
      memoryBytes: atLeastZero(machine.memoryBytes - reserved.memoryBytes),
    }),
  });
  const devices = new DeviceManager(join(options.dirs.agent, "devices.json"));
  for (const [resource, paths] of Object.entries(config.hostDevices)) devices.add(hostDeviceProvider(resource, paths));
  const cpus = new CpuManager({
    policy: config.cpuManager,
    reserved: parseCpus(config.reservedCpus),
    onShared: (cpuset) => void spreadShared(options, cpus, cpuset),
  });
  const sandboxImage = await sandboxImageOf(runtime);
  const imageGc = new ImageGc({
    image: runtime.image,
    used: () => usedImages(options, sandboxImage),
    config: config.imageGc,
    clock,
    log,
    recorder: options.recorder,
    node,
  });
  let imageDir: string | undefined;
  const usageSources = {
    runtime: runtime.runtime,
    volumes: options.volumes,
    logsDir: options.dirs.logs,
    processesOf: (uid: string) => cgroups.processes(uid),
  };
  const eviction = new Eviction({
    config: config.eviction,
    signals: hostSignals(config.dataDir, () => imageDir),
    clock,
    log,
    recorder: options.recorder,
    node,
    volumes: options.volumes,
    pods,
    usage: (of, call) => podUsage(usageSources, of, within(10_000, call)),
    end: options.end,
    isReleased: options.isReleased,
    reclaimDisk: async (call) => {
      await removeEnded(options, call);
      await imageGc.collect(call, { everything: true });
    },
    onPressure: options.onNews,
    ...(options.onEvicted ? { onEvicted: options.onEvicted } : {}),
  });
  const { maxBytes, maxFiles } = config.containerLogs;
  const logs = new LogRotation({
    runtime: runtime.runtime,
    observed: options.observed,
    maxBytes,
    maxFiles,
    clock,
    log,
  });

  return {
    devices,
    admit(pod, others) {
      if (isShuttingDown) return { reason: "NodeShutdown", message: "Pod was rejected as the node is shutting down." };
      return (
        eviction.refuses(pod, qosClassOf(pod.spec)) ??
        admissionOf(pod, others, {
          allocatable: options.allocatable(),
          nodeName: config.nodeName,
          labels: options.labels(),
          taints: options.taints(),
          allowedSysctls: config.allowedUnsafeSysctls,
        })
      );
    },
    refuseResize: (pod, others) => resizeRefusal(pod, others, options.allocatable()),
    preparePod: (pod, call) => cgroups.prepare(pod, call),
    async allot(pod, container, call) {
      const parts = await devices.allot(pod, container, call);
      adoptCpus(options, cpus);
      const cpuset = cpus.allot(pod, container);
      const isOwn = cpus.isExclusive(pod.metadata.uid, container.name);
      return merge([...parts, { cpuset, ...(isOwn ? { annotations: { [annotations.cpus]: cpuset } } : {}) }]);
    },
    async releasePod(podUid, call) {
      devices.release(podUid);
      options.users.release(podUid);
      cpus.release(podUid);
      await cgroups.release(podUid, call);
    },
    cgroupDriver: driver.name,
    cgroupParent: (pod) => cgroups.parentOf(pod),
    podsWithCgroups: () => cgroups.uids(),
    extended: () => devices.counts(),
    pressure: () => eviction.pressure(),
    troubles: () => (isShuttingDown ? ["node is shutting down"] : []),
    async run(call) {
      imageDir = await imageGc.directory(within(5_000, call)).catch(() => undefined);
      const parts = {
        eviction: eviction.run(call),
        logs: logs.run(call),
        // Before all containers are known, images that they use would seem to be unused.
        images: options.listed().then(() => imageGc.run(call)),
        devices: runDevicePlugins(options, devices, call),
      };
      // One that ends takes none of the others with it.
      const guarded = Object.entries(parts).map(([part, running]) =>
        running.catch((error: unknown) => {
          if (!call.signal.aborted) log.error({ part, err: error }, "a part of the node's resources ended");
        }),
      );
      await Promise.all(guarded);
    },
    removeCgroups: (call) => cgroups.removeTree(call),
    close: () => driver.close(),
    cancelShutdown() {
      if (!isShuttingDown) return;
      isShuttingDown = false;
      options.onNews();
      options.recorder.event(node, "Normal", "Shutdown", "Shutdown manager detected shutdown cancellation");
    },
    async shutDown(call) {
      // Told of once, also where the agent is stopped while the pods end.
      if (!isShuttingDown)
        options.recorder.event(node, "Normal", "Shutdown", "Shutdown manager detected shutdown event");
      isShuttingDown = true;
      options.onNews();
      const groups = shutdownGroups(config);
      await (groups.length > 0 ? endByPriority(groups, options, call) : endAllInTurn(options, call));
    },
  };
}

/** Loaded only where a folder for them is set. */
async function runDevicePlugins(options: ResourcesOptions, devices: DeviceManager, call: Call): Promise<void> {
  const { config, clock, log, onNews } = options;
  if (!config.devicePluginDir) return;
  const { DevicePlugins } = await import("./devices/device-plugins.ts");
  const { sockets } = options;
  await new DevicePlugins({ dir: config.devicePluginDir, sockets, devices, clock, log, onChange: onNews }).run(call);
}

/** Containers of pods that are over: their status is told, and their logs give way to those who still run. */
async function removeEnded({ runtime, observed, pods, log }: ResourcesOptions, call: Call): Promise<void> {
  const over = new Set(
    pods().flatMap(({ status, metadata }) => (isTerminalPhase(status?.phase) ? [metadata.uid] : [])),
  );
  for (const { uid, containers } of observed()) {
    for (const { id, state, logPath } of over.has(uid) ? containers : []) {
      if (state !== "exited") continue;
      try {
        await runtime.runtime.removeContainer({ containerId: id }, call);
        await removeLogs(logPath);
      } catch (error) {
        if (call.signal.aborted) throw error;
        log.warn({ container: id, err: error }, "cannot remove a container that has ended");
      }
    }
  }
}

async function cgroupDriver({ config, runtime, clock, log }: ResourcesOptions): Promise<CgroupDriver> {
  const name = await driverName(config.cgroupDriver, runtime.runtime, { clock, log }, uninterrupted);
  const files = openCgroupFiles();
  return name === "systemd" ? systemdDriver(files, systemdManager()) : cgroupfsDriver(files);
}

/** No container shows it, and runtimes that do not pin it would lose it to garbage collection. */
async function sandboxImageOf(runtime: Runtime): Promise<string> {
  try {
    const { info } = await runtime.runtime.status({ verbose: true }, within(2_000));
    return (JSON.parse(info["config"] ?? "{}") as { sandboxImage?: string }).sandboxImage ?? "";
  } catch {
    return "";
  }
}

function merge(parts: readonly Partial<Allotment>[]): Allotment {
  return {
    devices: parts.flatMap((part) => part.devices ?? []),
    cdiDevices: parts.flatMap((part) => part.cdiDevices ?? []),
    annotations: Object.assign({}, ...parts.map((part) => part.annotations ?? {})) as Record<string, string>,
    environment: new Map(parts.flatMap((part) => [...(part.environment ?? [])])),
    mounts: parts.flatMap((part) => part.mounts ?? []),
    cpuset: parts.map((part) => part.cpuset ?? "").find((text) => text !== "") ?? nothingAllotted.cpuset,
  };
}

/** What containers were given before the agent was restarted is still theirs. */
function adoptCpus(options: ResourcesOptions, cpus: CpuManager): void {
  if (options.config.cpuManager === "none") return;
  for (const pod of options.observed()) {
    for (const { name, state, cpus: own } of pod.containers) {
      if (state === "running" && own) cpus.adopt(pod.uid, name, own);
    }
  }
}

/** Containers without CPUs of their own move to what is left for everybody. */
async function spreadShared(options: ResourcesOptions, cpus: CpuManager, cpuset: string): Promise<void> {
  for (const pod of options.observed()) {
    for (const { id, name, state } of pod.containers) {
      if (state !== "running" || cpus.isExclusive(pod.uid, name)) continue;
      const linux = LinuxContainerResources.create({ cpusetCpus: cpuset });
      await options.runtime.runtime
        .updateContainerResources({ containerId: id, linux, annotations: {} }, uninterrupted)
        .catch((error: unknown) =>
          options.log.warn(
            { pod: `${pod.namespace}/${pod.name}`, err: error },
            "cannot move a container to other CPUs",
          ),
        );
    }
  }
}

/** By every name they may be known under: those that run, those that pods want, and the sandboxes' own. */
function usedImages(options: ResourcesOptions, sandboxImage: string): ReadonlySet<string> {
  const used = new Set<string>([sandboxImage]);
  for (const pod of options.observed()) for (const { image, imageId } of pod.containers) used.add(image).add(imageId);
  for (const pod of options.pods()) {
    for (const { container } of containersOf(pod))
      if (container.image) for (const name of namesOf(container.image)) used.add(name);
    for (const { image } of pod.spec.volumes ?? [])
      if (image?.reference) for (const name of namesOf(image.reference)) used.add(name);
  }
  return used;
}
