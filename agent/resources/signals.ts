// How much the node has left of what pods use up, and which thresholds are crossed.

import { readFileSync, statSync } from "node:fs";
import type { EvictionConfig } from "../config/agent-config.ts";
import type { SoftThreshold } from "../config/soft-eviction.ts";
import { fileSystem, meminfo } from "../node/machine.ts";
import type { Signal } from "./eviction-rank.ts";

export interface SignalReading {
  readonly signal: Signal;
  readonly available: number;
  readonly threshold: number;
  /** What there is in all. */
  readonly capacity: number;
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

/** Every signal with its threshold; crossed where less is available than the threshold. */
export function readSignals(sources: SignalSources, config: EvictionConfig): SignalReading[] {
  const nodeFs = sources.nodeFs();
  const imageFs = sources.imageFs();
  const ids = sources.processIds();
  const memory = sources.memory();
  const reading = (signal: Signal, available: number, capacity: number, threshold: number): SignalReading => ({
    signal,
    available,
    capacity,
    threshold,
  });
  const readings = [
    reading("memory.available", memory.availableBytes, memory.bytes, Number(config.memoryBytes)),
    reading("nodefs.available", nodeFs.availableBytes, nodeFs.bytes, nodeFs.bytes * config.nodeFsAvailable),
  ];
  // Some file systems count no inodes.
  if (nodeFs.inodes > 0) {
    readings.push(reading("nodefs.inodesFree", nodeFs.freeInodes, nodeFs.inodes, nodeFs.inodes * config.inodesFree));
  }
  if (imageFs) {
    readings.push(
      reading("imagefs.available", imageFs.availableBytes, imageFs.bytes, imageFs.bytes * config.imageFsAvailable),
    );
  }
  readings.push(reading("pid.available", ids.most - ids.used, ids.most, ids.most * config.pidAvailable));
  return readings;
}

export function crossed<R extends SignalReading>(readings: readonly R[]): R[] {
  return readings.filter(({ available, threshold }) => available < threshold);
}

/** The same readings against the soft thresholds. */
export function softReadings(readings: readonly SignalReading[], soft: readonly SoftThreshold[]): SoftReading[] {
  return soft.flatMap(({ signal, below, graceMs }) => {
    const found = readings.find((reading) => reading.signal === signal);
    if (!found) return [];
    const threshold = "fraction" in below ? found.capacity * below.fraction : below.amount;
    return [{ ...found, threshold, graceMs }];
  });
}

export interface SoftReading extends SignalReading {
  readonly graceMs: number;
}
