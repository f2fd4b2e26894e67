// Whom to evict first when the node runs short: those who use more than they asked for, then by priority, then by how much more. Pure.

import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import type { EvictionSignal } from "../config/eviction-thresholds.ts";
import { type AgentPod, isCriticalPod } from "../model/agent-pod.ts";

export type Signal = EvictionSignal;

export interface ContainerUse {
  readonly memoryBytes: number;
  /** Written into its root file system. */
  readonly rootBytes: number;
  readonly logBytes: number;
}

export interface PodUsage {
  readonly memoryBytes: number;
  /** Of all root file systems. */
  readonly rootBytes: number;
  /** Of logs and volumes on the node's own disk. */
  readonly localBytes: number;
  readonly inodes: number;
  readonly processes: number;
  /** By container, for the message and for its own limit. */
  readonly containers: ReadonlyMap<string, ContainerUse>;
}

export interface RankedPod {
  readonly pod: AgentPod;
  readonly usage: PodUsage;
}

const none: PodUsage = {
  memoryBytes: 0,
  rootBytes: 0,
  localBytes: 0,
  inodes: 0,
  processes: 0,
  containers: new Map(),
};

export interface RankOptions {
  readonly signal: Signal;
  /** Images and root file systems lie on another file system than the node's data. */
  readonly hasImageFs: boolean;
}

/** First to go first; critical pods are never among them. */
export function evictionOrder(
  options: RankOptions,
  pods: readonly AgentPod[],
  usageOf: (podUid: string) => PodUsage | undefined,
): RankedPod[] {
  const ranked = pods
    .filter((pod) => !isCriticalPod(pod))
    .map((pod) => ({ pod, usage: usageOf(pod.metadata.uid) ?? none }));
  return ranked.sort((a, b) => compare(options, a, b));
}

function compare({ signal, hasImageFs }: RankOptions, a: RankedPod, b: RankedPod): number {
  const byPriority = (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0);
  if (signal === "pid.available") return byPriority || b.usage.processes - a.usage.processes;
  if (resourceOf(signal) === "inodes") return byPriority || b.usage.inodes - a.usage.inodes;
  const excess = ({ pod, usage }: RankedPod) => usedOf(signal, hasImageFs, usage) - requestOf(pod, resourceOf(signal));
  const [overA, overB] = [excess(a), excess(b)];
  return Number(overB > 0) - Number(overA > 0) || byPriority || overB - overA;
}

export function resourceOf(signal: Signal): "memory" | "ephemeral-storage" | "inodes" | "pids" {
  if (signal === "memory.available") return "memory";
  if (signal === "pid.available") return "pids";
  return signal.endsWith(".inodesFree") ? "inodes" : "ephemeral-storage";
}

/** With two file systems, only what lies on the one that is short counts. */
function usedOf(signal: Signal, hasImageFs: boolean, usage: PodUsage): number {
  if (signal === "memory.available") return usage.memoryBytes;
  if (!hasImageFs) return usage.rootBytes + usage.localBytes;
  return signal === "imagefs.available" ? usage.rootBytes : usage.localBytes;
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
