// Whom to evict first when the node runs short: those who use more than they asked for, then by priority, then by how much more. Pure.

import { parseQuantity, quantityValue } from "../../plugins/kit/quantity.ts";
import type { EvictionSignal } from "../config/soft-eviction.ts";
import { type AgentPod, isCriticalPod } from "../pods/agent-pod.ts";

export type Signal = EvictionSignal;

export interface PodUsage {
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly inodes: number;
  readonly processes: number;
  /** By container, for the message. */
  readonly containers: ReadonlyMap<string, { readonly memoryBytes: number; readonly diskBytes: number }>;
}

export interface RankedPod {
  readonly pod: AgentPod;
  readonly usage: PodUsage;
}

const none: PodUsage = { memoryBytes: 0, diskBytes: 0, inodes: 0, processes: 0, containers: new Map() };

/** First to go first; critical pods are never among them. */
export function evictionOrder(
  signal: Signal,
  pods: readonly AgentPod[],
  usageOf: (podUid: string) => PodUsage | undefined,
): RankedPod[] {
  const ranked = pods
    .filter((pod) => !isCriticalPod(pod))
    .map((pod) => ({ pod, usage: usageOf(pod.metadata.uid) ?? none }));
  return ranked.sort((a, b) => compare(signal, a, b));
}

function compare(signal: Signal, a: RankedPod, b: RankedPod): number {
  const byPriority = (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0);
  if (signal === "pid.available") return byPriority || b.usage.processes - a.usage.processes;
  if (signal === "nodefs.inodesFree") return byPriority || b.usage.inodes - a.usage.inodes;
  const resource = resourceOf(signal);
  const [overA, overB] = [excess(resource, a), excess(resource, b)];
  return Number(overB > 0) - Number(overA > 0) || byPriority || overB - overA;
}

export function resourceOf(signal: Signal): "memory" | "ephemeral-storage" | "inodes" | "pids" {
  if (signal === "memory.available") return "memory";
  if (signal === "pid.available") return "pids";
  return signal === "nodefs.inodesFree" ? "inodes" : "ephemeral-storage";
}

function excess(resource: string, { pod, usage }: RankedPod): number {
  const used = resource === "memory" ? usage.memoryBytes : usage.diskBytes;
  return used - requestOf(pod, resource);
}

export function requestOf(pod: AgentPod, resource: string, containerName?: string): number {
  const containers = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always"),
  ];
  return containers
    .filter(({ name }) => containerName === undefined || name === containerName)
    .map(({ resources }) => resources?.requests?.[resource] ?? resources?.limits?.[resource])
    .reduce((sum: number, text) => sum + (text === undefined ? 0 : Number(quantityValue(parseQuantity(text)))), 0);
}
