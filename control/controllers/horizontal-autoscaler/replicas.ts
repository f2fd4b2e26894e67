// How many replicas one resource metric asks for, as upstream counts pods that are not ready or tell nothing. Pure; amounts are in
// thousandths.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Container, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isRestartableInit } from "../../../plugins/kit/kube/pod-quantities.ts";
import { parseQuantity, quantityMilli } from "../../../plugins/kit/kube/quantity.ts";
import { readyCondition } from "../pods/pod-facts.ts";
import type { PodMetrics } from "./objects.ts";

const tolerance = 0.1;
const cpuStartMs = 5 * 60_000;
const readyDelayMs = 30_000;

export interface ResourceWish {
  readonly resource: string;
  readonly container?: string;
  /** Percent of what was requested. */
  readonly utilization?: number;
  /** Thousandths for each pod. */
  readonly average?: number;
}

export interface Proposal {
  readonly replicas: number;
  readonly average: number;
  readonly utilization?: number;
}

interface Reading {
  readonly usage: Map<string, number>;
  readonly unready: string[];
  readonly missing: string[];
}

export function proposeReplicas(
  current: number,
  wish: ResourceWish,
  pods: readonly Pod[],
  metrics: readonly PodMetrics[],
  now: number,
): Proposal {
  const reading = read(wish, pods, metrics, now);
  if (reading.usage.size === 0)
    throw new Fault("unavailable", "did not receive metrics for targeted pods (pods might be unready)");
  const requests = wish.utilization === undefined ? undefined : requestsOf(wish, pods);
  const ratioOf = (usage: ReadonlyMap<string, number>) => {
    const total = sum(usage.values());
    if (requests) {
      const requested = sum([...usage.keys()].map((name) => requests.get(name) ?? 0));
      if (requested === 0) throw new Fault("invalid", "no metrics returned matched known pods");
      return ((total / requested) * 100) / (wish.utilization ?? 100);
    }
    return total / usage.size / (wish.average ?? 1);
  };
  const ratio = ratioOf(reading.usage);
  const average = Math.round(sum(reading.usage.values()) / reading.usage.size);
  const utilization = requests ? Math.floor(ratio * (wish.utilization ?? 0) + 1e-9) : undefined;
  const shown = { average, ...(utilization === undefined ? {} : { utilization }) };
  const isGrowing = ratio > 1;
  const filled = new Map(reading.usage);
  const budget = (name: string) =>
    requests ? ((requests.get(name) ?? 0) * Math.max(100, wish.utilization ?? 0)) / 100 : (wish.average ?? 0);
  // What is not known must not speak for a change: idle when growing, busy when shrinking.
  if (reading.missing.length > 0) for (const name of reading.missing) filled.set(name, isGrowing ? 0 : budget(name));
  if (isGrowing) for (const name of reading.unready) filled.set(name, 0);
  if (filled.size === reading.usage.size) {
    if (Math.abs(1 - ratio) <= tolerance) return { replicas: current, ...shown };
    return { replicas: Math.ceil(round(ratio * reading.usage.size)), ...shown };
  }
  const careful = ratioOf(filled);
  if (Math.abs(1 - careful) <= tolerance || careful > 1 !== isGrowing) return { replicas: current, ...shown };
  const replicas = Math.ceil(round(careful * filled.size));
  const turnsBack = isGrowing ? replicas < current : replicas > current;
  return { replicas: turnsBack ? current : replicas, ...shown };
}

/** How many replicas a number that belongs to no single pod asks for: the length of a queue, requests at a gate. */
export function proposeForTotal(
  current: number,
  total: number,
  target: { readonly value?: number; readonly average?: number },
  pods: { readonly ready: number; readonly reported: number },
): { readonly replicas: number; readonly value?: number; readonly average?: number } {
  if (target.average !== undefined) {
    const average = pods.reported === 0 ? 0 : Math.ceil(total / pods.reported);
    const ratio = total / (target.average * pods.reported);
    const isClose = Math.abs(1 - ratio) <= tolerance;
    return { replicas: isClose ? pods.reported : Math.ceil(round(total / target.average)), average };
  }
  const ratio = total / (target.value ?? 1);
  const isClose = Math.abs(1 - ratio) <= tolerance;
  return { replicas: isClose ? current : Math.ceil(round(ratio * pods.ready)), value: total };
}

function read(wish: ResourceWish, pods: readonly Pod[], metrics: readonly PodMetrics[], now: number): Reading {
  const byName = new Map(metrics.map((one) => [one.metadata.name ?? "", one]));
  const reading: Reading = { usage: new Map(), unready: [], missing: [] };
  for (const pod of pods) {
    const name = pod.metadata.name ?? "";
    if (pod.metadata.deletionTimestamp || pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded") continue;
    if (pod.status?.phase === "Pending") {
      reading.unready.push(name);
      continue;
    }
    const found = byName.get(name);
    const used = found && usageOf(wish, found);
    if (used === undefined) reading.missing.push(name);
    else if (wish.resource === "cpu" && isStarting(pod, found, now)) reading.unready.push(name);
    else reading.usage.set(name, used);
  }
  return reading;
}

/** A pod that has just begun, or never was ready, uses CPU to start, not to serve. */
function isStarting(pod: Pod, metrics: PodMetrics | undefined, now: number): boolean {
  const ready = readyCondition(pod);
  const started = Date.parse(pod.status?.startTime ?? "");
  if (!ready || Number.isNaN(started)) return true;
  const changed = Date.parse(ready.lastTransitionTime ?? "") || 0;
  if (started + cpuStartMs > now) {
    const measuredFrom = (Date.parse(metrics?.timestamp ?? "") || now) - windowMs(metrics?.window);
    return ready.status === "False" || measuredFrom < changed;
  }
  return ready.status === "False" && started + readyDelayMs > changed;
}

function windowMs(text: string | undefined): number {
  const match = /^(?:(\d+)m)?(?:([\d.]+)s)?$/.exec(text ?? "");
  return match ? (Number(match[1] ?? 0) * 60 + Number(match[2] ?? 0)) * 1000 : 0;
}

function usageOf({ resource, container }: ResourceWish, { containers = [] }: PodMetrics): number | undefined {
  const mine = container ? containers.filter(({ name }) => name === container) : containers;
  if (mine.length === 0) return undefined;
  let total = 0;
  for (const { usage } of mine) {
    const amount = usage?.[resource];
    if (amount === undefined) return undefined;
    total += Number(quantityMilli(parseQuantity(amount)));
  }
  return total;
}

function requestsOf({ resource, container }: ResourceWish, pods: readonly Pod[]): Map<string, number> {
  const requests = new Map<string, number>();
  for (const pod of pods) {
    const sidecars = (pod.spec?.initContainers ?? []).filter((one) => isRestartableInit(one as Container));
    const all = [...(pod.spec?.containers ?? []), ...sidecars] as Container[];
    const mine = container ? all.filter(({ name }) => name === container) : all;
    let total = 0;
    for (const one of mine) {
      const amount = (one.resources?.requests as Record<string, string> | undefined)?.[resource];
      if (amount === undefined)
        throw new Fault(
          "invalid",
          `missing request for ${resource} in container ${one.name} of Pod ${pod.metadata.name}`,
        );
      total += Number(quantityMilli(parseQuantity(amount)));
    }
    requests.set(pod.metadata.name ?? "", total);
  }
  return requests;
}

const sum = (amounts: Iterable<number>) => [...amounts].reduce((total, amount) => total + amount, 0);
/** Without the dust of floating point, so that exactly five stays five. */
const round = (amount: number) => Math.round(amount * 1e6) / 1e6;
