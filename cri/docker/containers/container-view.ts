// How CRI shows a container.

import { readFileSync } from "node:fs";
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  type ContainerUser,
  LinuxContainerResources,
} from "../../api/gen/runtime.js";
import { type ContainerInspect, type ContainerSummary, toNanoseconds } from "../engine/types.ts";
import { type ContainerRecord, containerRecord } from "../labels.ts";

const states: Readonly<Record<string, ContainerState>> = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  paused: ContainerState.CONTAINER_RUNNING,
  restarting: ContainerState.CONTAINER_RUNNING,
  removing: ContainerState.CONTAINER_EXITED,
  exited: ContainerState.CONTAINER_EXITED,
  dead: ContainerState.CONTAINER_EXITED,
};

/** One that could not be started is "created" to the daemon, with an error: to CRI it has ended. */
function stateOf({ State }: ContainerInspect): ContainerState {
  if (State.Status === "created" && State.Error !== "") return ContainerState.CONTAINER_EXITED;
  return states[State.Status] ?? ContainerState.CONTAINER_UNKNOWN;
}

function toContainer(record: ContainerRecord, imageId: string, state: ContainerState): Container {
  const { id, sandboxId, config, imageRef, createdAt } = record;
  const { metadata, image, labels, annotations } = config;
  return { id, podSandboxId: sandboxId, metadata, image, imageRef, imageId, state, createdAt, labels, annotations };
}

export function listedContainer({ Id, Labels, State, ImageID }: ContainerSummary): Container {
  return toContainer(containerRecord(Id, Labels), ImageID, states[State] ?? ContainerState.CONTAINER_UNKNOWN);
}

export function inspectedContainer(seen: ContainerInspect): Container {
  return toContainer(containerRecord(seen.Id, seen.Config.Labels), seen.Image, stateOf(seen));
}

export function containerStatus(seen: ContainerInspect): ContainerStatus {
  const record = containerRecord(seen.Id, seen.Config.Labels);
  const { config, createdAt } = record;
  const { State } = seen;
  const state = stateOf(seen);
  const hasEnded = state === ContainerState.CONTAINER_EXITED;
  const neverBegan = hasEnded && State.Status === "created";
  const startedAt = toNanoseconds(State.StartedAt);
  return {
    id: record.id,
    metadata: config.metadata,
    state,
    createdAt,
    startedAt: neverBegan ? createdAt : startedAt,
    finishedAt: hasEnded ? toNanoseconds(State.FinishedAt) || createdAt : 0n,
    exitCode: hasEnded ? State.ExitCode : 0,
    image: config.image,
    imageRef: record.imageRef,
    imageId: seen.Image,
    reason: hasEnded ? reasonOf(seen) : "",
    message: hasEnded ? State.Error : "",
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath: record.logPath,
    resources: { linux: resourcesOf(seen), windows: undefined },
    user: State.Running ? userOf(State.Pid) : undefined,
    stopSignal: config.stopSignal,
  };
}

function reasonOf({ State }: ContainerInspect): string {
  if (State.OOMKilled) return "OOMKilled";
  if (State.Error !== "") return "StartError";
  return State.ExitCode === 0 ? "Completed" : "Error";
}

/** As they are now, updates included. */
function resourcesOf({ HostConfig }: ContainerInspect): LinuxContainerResources {
  const { CpuShares, CpuPeriod, CpuQuota, CpusetCpus, CpusetMems, Memory, MemorySwap, OomScoreAdj } = HostConfig;
  return LinuxContainerResources.create({
    cpuShares: BigInt(CpuShares),
    cpuPeriod: BigInt(CpuPeriod),
    cpuQuota: BigInt(CpuQuota),
    cpusetCpus: CpusetCpus,
    cpusetMems: CpusetMems,
    memoryLimitInBytes: BigInt(Memory),
    memorySwapLimitInBytes: BigInt(MemorySwap),
    oomScoreAdj: BigInt(OomScoreAdj),
  });
}

/** Who its first process is, as the kernel has it. */
function userOf(pid: number): ContainerUser | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    const numbers = (name: string) =>
      (new RegExp(`^${name}:\\s*(.*)$`, "m").exec(text)?.[1] ?? "").split(/\s+/).filter(Boolean).map(BigInt);
    const [uid] = numbers("Uid");
    const [gid] = numbers("Gid");
    if (uid === undefined || gid === undefined) return undefined;
    return { linux: { uid, gid, supplementalGroups: numbers("Groups") } };
  } catch {
    // Ended between two looks.
    return undefined;
  }
}
