// What is remembered of a container, and how CRI shows it.

import {
  type Container,
  type ContainerConfig,
  ContainerState,
  type ContainerStatus,
  type LinuxContainerResources,
} from "../../api/gen/runtime.js";
import type { ProcessName } from "../../../plugins/kit/os/platform/processes.ts";
import type { ContainerIdentity } from "./image-user.ts";

export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  /** A digest reference where there is one, else the id: what `imageRef` says. */
  readonly imageRef: string;
  /** Diff ids its root stands on, lowest first. */
  readonly layers: string[];
  readonly identity: ContainerIdentity;
  readonly cgroup: string;
  readonly logPath: string;
  readonly stopSignal: number;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  /** `making` is only ever seen after a crash in the middle. */
  phase: "making" | "created" | "running" | "exited";
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  reason: string;
  message: string;
  resources: LinuxContainerResources | undefined;
  /** Why the OCI runtime could not make it; told when it is started. */
  startFailure?: string;
  /** The OCI runtime has a hook to run when all is over. */
  hasLastHook?: true;
  process?: ProcessName;
  conmon?: ProcessName;
}

const states: Record<ContainerRecord["phase"], ContainerState> = {
  making: ContainerState.CONTAINER_UNKNOWN,
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
};

export function stateOf(record: ContainerRecord): ContainerState {
  return states[record.phase];
}

export function toContainer(record: ContainerRecord): Container {
  const { id, sandboxId, config, imageId, imageRef, createdAt } = record;
  const { metadata, image, labels, annotations } = config;
  return {
    id,
    podSandboxId: sandboxId,
    metadata,
    image,
    imageRef,
    state: stateOf(record),
    createdAt,
    labels,
    annotations,
    imageId,
  };
}

export function toContainerStatus(record: ContainerRecord): ContainerStatus {
  const { id, config, imageId, imageRef, createdAt, startedAt, finishedAt, exitCode, identity } = record;
  const reason = record.reason || (record.phase !== "exited" ? "" : exitCode === 0 ? "Completed" : "Error");
  return {
    id,
    metadata: config.metadata,
    state: stateOf(record),
    createdAt,
    startedAt,
    finishedAt,
    exitCode,
    image: config.image,
    imageRef,
    imageId,
    reason,
    message: record.message,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath: record.logPath,
    resources: record.resources ? { linux: record.resources, windows: undefined } : undefined,
    user: {
      linux: { uid: BigInt(identity.uid), gid: BigInt(identity.gid), supplementalGroups: identity.groups.map(BigInt) },
    },
    stopSignal: config.stopSignal,
  };
}
