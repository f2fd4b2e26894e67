// From the runtime's messages to observed sandboxes and containers. Knows CRI's units and the agent's own marks on containers.

import {
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  type PodSandboxStatus,
  PodSandboxState,
} from "../../cri/api/gen/runtime.js";
import { annotations, labels } from "../model/identity.ts";
import type { ObservedContainer, ObservedResources, ObservedSandbox, ObservedState } from "../model/observed.ts";

const states: Record<number, ObservedState> = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
  [ContainerState.CONTAINER_EXITED]: "exited",
};

export function stateOf(state: ContainerState): ObservedState {
  return states[state] ?? "unknown";
}

/**
 * Its start was called off because the agent went away: it never ran, so it is as good as just made. What the runtime says of that depends on
 * how far it was; but a start that was refused for a reason is one that this agent was told of.
 */
function isCalledOff(status: ContainerStatus, wasRefused: boolean): boolean {
  if (status.state !== ContainerState.CONTAINER_EXITED || status.startedAt !== 0n) return false;
  return !wasRefused || /context (canceled|deadline exceeded)/.test(status.message);
}

export function sandboxOf(status: PodSandboxStatus): ObservedSandbox {
  const { ip = "", additionalIps = [] } = status.network ?? {};
  return {
    id: status.id,
    isReady: status.state === PodSandboxState.SANDBOX_READY,
    attempt: status.metadata?.attempt ?? 0,
    createdAt: milliseconds(status.createdAt),
    ips: [ip, ...additionalIps.map((additional) => additional.ip)].filter((address) => address !== ""),
    isHostNetwork: status.linux?.namespaces?.options?.network === NamespaceMode.NODE,
    runtimeHandler: status.runtimeHandler,
  };
}

export interface ContainerFacts {
  readonly sandboxId: string;
  /** The termination message, which only the host's files hold. */
  readonly message: string;
  /** This agent asked for its start and was told why not. */
  readonly wasRefused: boolean;
}

export function containerOf(status: ContainerStatus, facts: ContainerFacts): ObservedContainer {
  const { sandboxId, message, wasRefused } = facts;
  const state = isCalledOff(status, wasRefused) ? "created" : stateOf(status.state);
  const { [annotations.graceSeconds]: grace, [annotations.cpus]: cpus } = status.annotations;
  const user = status.user?.linux;
  const resources = resourcesOf(status);
  return {
    id: status.id,
    name: status.labels[labels.containerName] ?? status.metadata?.name ?? "",
    sandboxId,
    state,
    restartCount: Number(status.annotations[annotations.restartCount] ?? status.metadata?.attempt ?? 0),
    hash: status.annotations[annotations.hash] ?? "",
    createdAt: milliseconds(status.createdAt),
    startedAt: milliseconds(status.startedAt),
    finishedAt: milliseconds(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason || (state === "exited" ? (status.exitCode === 0 ? "Completed" : "Error") : ""),
    message: [status.message, message].filter((text) => text !== "").join(": "),
    image: status.image?.userSpecifiedImage || status.image?.image || "",
    imageId: status.imageRef,
    logPath: status.logPath,
    terminationMessagePath: status.annotations[annotations.terminationMessagePath] ?? "",
    ...(grace === undefined ? {} : { graceSeconds: Number(grace) }),
    ...(resources ? { resources } : {}),
    ...(cpus ? { cpus } : {}),
    ...(user
      ? {
          user: {
            uid: Number(user.uid),
            gid: Number(user.gid),
            supplementalGroups: user.supplementalGroups.map(Number),
          },
        }
      : {}),
  };
}

/** As the runtime tells, else as the container was made. */
function resourcesOf(status: ContainerStatus): ObservedResources | undefined {
  const linux = status.resources?.linux;
  if (!linux) {
    const made = status.annotations[annotations.resources];
    return made === undefined ? undefined : (JSON.parse(made) as ObservedResources);
  }
  return {
    cpuShares: Number(linux.cpuShares),
    cpuQuota: Number(linux.cpuQuota),
    cpuPeriod: Number(linux.cpuPeriod),
    memoryLimitBytes: Number(linux.memoryLimitInBytes),
  };
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}
