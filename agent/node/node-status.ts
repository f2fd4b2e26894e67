// The node's status from what is known of machine, runtime and pressure. Pure.

import type { NodeCondition, NodeStatus } from "../../plugins/kit/kube/objects/types.ts";
import { apiTime } from "../model/times.ts";
import type { ResourceList } from "../model/capacity.ts";
import type { MachineFacts } from "../host/machine.ts";

export const kubeletVersion = "v1.32.0+skiff";

export interface RuntimeHealth {
  /** Undefined while well. */
  readonly runtimeTrouble: string | undefined;
  readonly networkTrouble: string | undefined;
  readonly name: string;
  readonly version: string;
  /** Ways of running pods, and what each can do. */
  readonly handlers: NonNullable<NodeStatus["runtimeHandlers"]>;
}

export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pids: boolean;
}

export interface NodeStatusInput {
  readonly nodeName: string;
  readonly machine: MachineFacts;
  readonly addresses: readonly string[];
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly health: RuntimeHealth;
  readonly pressure: Pressure;
  /** Other reasons for not being ready, such as a shutdown. */
  readonly troubles: readonly string[];
  readonly images: NonNullable<NodeStatus["images"]>;
  readonly volumesInUse: readonly string[];
  readonly port: number;
  readonly previous: NodeStatus | undefined;
  readonly nowMs: number;
}

export function nodeStatus(input: NodeStatusInput): NodeStatus {
  const { machine, health } = input;
  return {
    addresses: [
      ...input.addresses.map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: input.nodeName },
    ],
    capacity: input.capacity,
    allocatable: input.allocatable,
    conditions: conditions(input),
    daemonEndpoints: { kubeletEndpoint: { Port: input.port } },
    images: input.images,
    nodeInfo: {
      architecture: machine.architecture,
      bootID: machine.bootId,
      containerRuntimeVersion: `${health.name}://${health.version}`,
      kernelVersion: machine.kernelVersion,
      kubeProxyVersion: kubeletVersion,
      kubeletVersion,
      machineID: machine.machineId,
      operatingSystem: "linux",
      osImage: machine.osImage,
      systemUUID: machine.systemUuid,
    },
    ...(health.handlers.length > 0 ? { runtimeHandlers: health.handlers } : {}),
    ...(input.volumesInUse.length > 0 ? { volumesInUse: [...input.volumesInUse] } : {}),
  };
}

function conditions(input: NodeStatusInput): NodeCondition[] {
  const { pressure, health } = input;
  const troubles = [
    health.runtimeTrouble,
    health.networkTrouble ? `container runtime network not ready: ${health.networkTrouble}` : undefined,
    ...input.troubles,
  ].filter((trouble) => trouble !== undefined);
  const bare: Omit<NodeCondition, "lastHeartbeatTime" | "lastTransitionTime">[] = [
    flag(
      "MemoryPressure",
      pressure.memory,
      ["KubeletHasInsufficientMemory", "kubelet has insufficient memory available"],
      ["KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
    ),
    flag(
      "DiskPressure",
      pressure.disk,
      ["KubeletHasDiskPressure", "kubelet has disk pressure"],
      ["KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
    ),
    flag(
      "PIDPressure",
      pressure.pids,
      ["KubeletHasInsufficientPID", "kubelet has insufficient PID available"],
      ["KubeletHasSufficientPID", "kubelet has sufficient PID available"],
    ),
    flag(
      "NetworkUnavailable",
      health.networkTrouble !== undefined,
      ["NetworkNotReady", health.networkTrouble ?? ""],
      ["NetworkReady", "the runtime's network is ready"],
    ),
    flag(
      "Ready",
      troubles.length === 0,
      ["KubeletReady", "kubelet is posting ready status"],
      ["KubeletNotReady", troubles.join(", ")],
    ),
  ];
  const now = apiTime(input.nowMs);
  return bare.map((condition) => {
    const old = input.previous?.conditions?.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now;
    return { ...condition, lastHeartbeatTime: now, lastTransitionTime };
  });
}

function flag(type: string, is: boolean, yes: [string, string], no: [string, string]) {
  const [reason, message] = is ? yes : no;
  return { type, status: is ? "True" : "False", reason, message };
}

/** Whether two statuses differ in anything but their heartbeats. */
export function isNews(old: NodeStatus | undefined, next: NodeStatus): boolean {
  const bare = (status: NodeStatus | undefined) =>
    JSON.stringify([
      status?.addresses,
      status?.capacity,
      status?.allocatable,
      status?.daemonEndpoints,
      status?.images,
      status?.nodeInfo,
      status?.runtimeHandlers ?? [],
      status?.volumesInUse ?? [],
      (status?.conditions ?? []).map(({ type, status: is, reason, message }) => [type, is, reason, message]),
    ]);
  return bare(old) !== bare(next);
}

/** Whether the API server shows a condition or an address other than the node reports: a controller may have overwritten it. */
export function isOverwritten(shown: NodeStatus | undefined, reported: NodeStatus): boolean {
  const text = (condition: NodeCondition | undefined) =>
    JSON.stringify([condition?.status, condition?.reason, condition?.message]);
  const isOther = (own: NodeCondition) => text(shown?.conditions?.find(({ type }) => type === own.type)) !== text(own);
  return (
    (reported.conditions ?? []).some(isOther) || JSON.stringify(shown?.addresses) !== JSON.stringify(reported.addresses)
  );
}
