// How much the node has left of what pods use up, and which thresholds are crossed.

import { readFileSync, statSync } from "node:fs";
import { amountFrom, type Threshold } from "../config/eviction-thresholds.ts";
import { fileSystem, meminfo } from "../host/machine.ts";
import type { Signal } from "./eviction-rank.ts";

export interface SignalReading {
  readonly signal: Signal;
  readonly available: number;
  /** What there is in all. */
  readonly capacity: number;
}

export interface Crossing {
  readonly threshold: Threshold;
  /** What of it must be available, and what is. */
  readonly quantity: number;
  readonly available: number;
}

export interface SignalSources {
  readonly memory: () => { availableBytes: number; bytes: number };
  readonly nodeFs: () => ReturnType<typeof fileSystem>;
  readonly imageFs: () => ReturnType<typeof fileSystem> | undefined;
  /** Images lie on another file system than the node's data. */
  readonly hasImageFs: () => boolean;
  readonly processIds: () => { used: number; most: number };
}

export function hostSignals(nodeDir: string, imageDir: () => string | undefined): SignalSources {
  const read = (path: string) => readFileSync(path, "utf8");
  return {
    memory: () => {
      const text = read("/proc/meminfo");
      return { availableBytes: Number(meminfo(text, "MemAvailable")), bytes: Number(meminfo(text, "MemTotal")) };
    },
    nodeFs: () => fileSystem(nodeDir),
    imageFs: () => {
      const dir = imageDir();
      return dir === undefined ? undefined : fileSystem(dir);
    },
    hasImageFs: () => {
      const dir = imageDir();
      return dir !== undefined && statSync(dir).dev !== statSync(nodeDir).dev;
    },
    processIds: () => {
      const used = Number(/\/(\d+)/.exec(read("/proc/loadavg"))?.[1] ?? 0);
      const most = Math.min(Number(read("/proc/sys/kernel/pid_max")), Number(read("/proc/sys/kernel/threads-max")));
      return { used, most };
    },
  };
}

/** Every signal that can be read. */
export function readSignals(sources: SignalSources): SignalReading[] {
  const nodeFs = sources.nodeFs();
  const imageFs = sources.imageFs();
  const ids = sources.processIds();
  const memory = sources.memory();
  const reading = (signal: Signal, available: number, capacity: number): SignalReading => ({
    signal,
    available,
    capacity,
  });
  const readings = [
    reading("memory.available", memory.availableBytes, memory.bytes),
    reading("nodefs.available", nodeFs.availableBytes, nodeFs.bytes),
    reading("nodefs.inodesFree", nodeFs.freeInodes, nodeFs.inodes),
    ...(imageFs
      ? [
          reading("imagefs.available", imageFs.availableBytes, imageFs.bytes),
          reading("imagefs.inodesFree", imageFs.freeInodes, imageFs.inodes),
        ]
      : []),
    reading("pid.available", ids.most - ids.used, ids.most),
  ];
  // Some file systems count no inodes.
  return readings.filter(({ signal, capacity }) => !signal.endsWith(".inodesFree") || capacity > 0);
}

/** Thresholds of which less is available than they say; with `reclaiming`, less than they say and what must be freed beyond. */
export function crossings(
  readings: readonly SignalReading[],
  thresholds: readonly Threshold[],
  options: { readonly reclaiming?: boolean } = {},
): Crossing[] {
  return thresholds.flatMap((threshold) => {
    const found = readings.find(({ signal }) => signal === threshold.signal);
    if (!found) return [];
    const { available, capacity } = found;
    const quantity = amountFrom(threshold.below, capacity);
    const more = options.reclaiming && threshold.minimumReclaim ? amountFrom(threshold.minimumReclaim, capacity) : 0;
    return available < quantity + more ? [{ threshold, quantity, available }] : [];
  });
}
