// What is remembered of a sandbox, and how CRI shows it.

import {
  NamespaceMode,
  type PodSandbox,
  type PodSandboxConfig,
  PodSandboxState,
  type PodSandboxStatus,
} from "../../api/gen/runtime.js";
import type { ProcessName } from "../../../plugins/kit/os/platform/processes.ts";

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  /** `making` is only ever seen after a crash in the middle. */
  phase: "making" | "ready" | "stopped";
  ips: string[];
  /** Set before the network is asked, so that whatever it did is undone. */
  isAttached: boolean;
  holder?: ProcessName;
}

export function namespaceModes(config: PodSandboxConfig | undefined) {
  const options = config?.linux?.securityContext?.namespaceOptions;
  return {
    network: options?.network ?? NamespaceMode.POD,
    pid: options?.pid ?? NamespaceMode.POD,
    ipc: options?.ipc ?? NamespaceMode.POD,
    user: options?.usernsOptions,
  };
}

/** Whether the pod has a user namespace of its own. */
export function hasUserNamespace(config: PodSandboxConfig): boolean {
  const user = namespaceModes(config).user;
  return user !== undefined && user.mode === NamespaceMode.POD && user.uids.length > 0;
}

export function stateOf(record: SandboxRecord): PodSandboxState {
  return record.phase === "ready" ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

export function toPodSandbox(record: SandboxRecord): PodSandbox {
  const { id, config, createdAt, runtimeHandler } = record;
  const { labels, annotations, metadata } = config;
  return { id, metadata, state: stateOf(record), createdAt, labels, annotations, runtimeHandler };
}

export function toPodSandboxStatus(record: SandboxRecord): PodSandboxStatus {
  const [ip = "", ...more] = record.ips;
  return {
    ...toPodSandbox(record),
    network: { ip, additionalIps: more.map((address) => ({ ip: address })) },
    linux: { namespaces: { options: record.config.linux?.securityContext?.namespaceOptions } },
  };
}
