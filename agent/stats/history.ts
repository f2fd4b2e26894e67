// A short memory of what the node and its containers used, for plots. Bounded: the oldest points go first.

import { isWholeDisk, sectorBytes } from "./disk-stats.ts";
import type { Snapshot } from "./usage.ts";

/** CPU in thousandths of a core, memory in bytes, network and disk in bytes since the start; times in milliseconds. */
export interface HistoryPoint {
  readonly at: number;
  readonly milliCpu: number;
  readonly memory: number;
  readonly rx: number;
  readonly tx: number;
  readonly read: number;
  readonly written: number;
}

const most = 90;

export class History {
  #node: HistoryPoint[] = [];
  #containers = new Map<string, HistoryPoint[]>();

  add({ at, node, nodeNanoCores, pods }: Snapshot): void {
    const total = (of: "rxBytes" | "txBytes") => node.interfaces.reduce((sum, one) => sum + one[of], 0);
    const disks = node.disks.filter(isWholeDisk);
    const sectors = (of: "sectorsRead" | "sectorsWritten") =>
      disks.reduce((sum, one) => sum + one[of], 0) * sectorBytes;
    push(this.#node, {
      at,
      milliCpu: (nodeNanoCores ?? 0) / 1e6,
      memory: node.memory.workingSetBytes,
      rx: total("rxBytes"),
      tx: total("txBytes"),
      read: sectors("sectorsRead"),
      written: sectors("sectorsWritten"),
    });
    const seen = new Map<string, HistoryPoint[]>();
    for (const { containers, network = [] } of pods) {
      const sum = (of: "rxBytes" | "txBytes") => network.reduce((whole, one) => whole + one[of], 0);
      for (const { container, sample, nanoCores } of containers) {
        const points = this.#containers.get(container.id) ?? [];
        const memory = sample.memory?.workingSetBytes ?? 0;
        const moved = (of: "readBytes" | "writeBytes") => (sample.io ?? []).reduce((whole, one) => whole + one[of], 0);
        push(points, {
          at,
          milliCpu: (nanoCores ?? 0) / 1e6,
          memory,
          rx: sum("rxBytes"),
          tx: sum("txBytes"),
          read: moved("readBytes"),
          written: moved("writeBytes"),
        });
        seen.set(container.id, points);
      }
    }
    this.#containers = seen;
  }

  node(): readonly HistoryPoint[] {
    return this.#node;
  }

  container(id: string): readonly HistoryPoint[] {
    return this.#containers.get(id) ?? [];
  }
}

function push(points: HistoryPoint[], point: HistoryPoint): void {
  points.push(point);
  if (points.length > most) points.shift();
}
