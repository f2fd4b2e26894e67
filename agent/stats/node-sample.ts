// What the whole machine uses, from /proc and /sys below a root that tests may replace. Files only: nothing is spawned.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pressureIn } from "../../plugins/kit/os/pressure.ts";
import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";
import { type DiskCounters, disksIn } from "./disk-stats.ts";
import { type InterfaceCounters, interfacesIn } from "./net-dev.ts";

export interface NodeSample {
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly cpuNs: { readonly total: bigint; readonly user: bigint; readonly system: bigint };
  readonly memory: {
    readonly totalBytes: number;
    readonly usageBytes: number;
    readonly workingSetBytes: number;
    readonly rssBytes: number;
    readonly cacheBytes: number;
    readonly mappedFileBytes: number;
    readonly activeFileBytes: number;
    readonly inactiveFileBytes: number;
    readonly kernelBytes: number;
    readonly pageFaults: number;
    readonly majorPageFaults: number;
    readonly swapTotalBytes: number;
    readonly swapUsedBytes: number;
    readonly oomKills: number;
  };
  readonly interfaces: readonly InterfaceCounters[];
  readonly disks: readonly DiskCounters[];
  readonly processes: number;
  readonly mostProcesses: number;
  readonly load: readonly [number, number, number];
  /** Where the kernel has it. */
  readonly pressure: NonNullable<CgroupSample["pressure"]>;
  readonly board: BoardFacts;
}

/** What owners of small boards look for. */
export interface BoardFacts {
  readonly temperatures: readonly { readonly zone: string; readonly celsius: number }[];
  /** The firmware's bits: under-voltage 1, frequency capped 2, throttled 4, soft limit 8; the same from bit 16 on for "has been". */
  readonly throttled?: number;
  /** Estimated wear of the SD or eMMC card in tenths, as the device tells it. */
  readonly wear: readonly { readonly device: string; readonly tenths: number }[];
}

// The kernel counts CPU time in these, whatever its own ticks are.
const nsPerTick = 10_000_000n;

export class NodeSampler {
  readonly #root: string;

  constructor(root = "/") {
    this.#root = root;
  }

  sample(at: number): NodeSample {
    const meminfo = pairs(this.#read("proc/meminfo"), /^(\S+?):\s+(\d+)/gm);
    const vmstat = pairs(this.#read("proc/vmstat"), /^(\S+) (\d+)/gm);
    const kb = (name: string) => (meminfo.get(name) ?? 0) * 1024;
    const usageBytes = kb("MemTotal") - kb("MemFree");
    const loadText = this.#read("proc/loadavg").split(" ");
    return {
      at,
      cpuNs: cpuTime(this.#read("proc/stat")),
      memory: {
        totalBytes: kb("MemTotal"),
        usageBytes,
        workingSetBytes: Math.max(0, usageBytes - kb("Inactive(file)")),
        rssBytes: kb("AnonPages"),
        cacheBytes: kb("Cached") + kb("Buffers"),
        mappedFileBytes: kb("Mapped"),
        activeFileBytes: kb("Active(file)"),
        inactiveFileBytes: kb("Inactive(file)"),
        kernelBytes: kb("Slab") + kb("KernelStack") + kb("PageTables"),
        pageFaults: vmstat.get("pgfault") ?? 0,
        majorPageFaults: vmstat.get("pgmajfault") ?? 0,
        swapTotalBytes: kb("SwapTotal"),
        swapUsedBytes: kb("SwapTotal") - kb("SwapFree"),
        oomKills: vmstat.get("oom_kill") ?? 0,
      },
      interfaces: interfacesIn(this.#read("proc/1/net/dev") || this.#read("proc/net/dev")),
      disks: disksIn(this.#read("proc/diskstats")),
      processes: Number(loadText[3]?.split("/")[1] ?? 0),
      mostProcesses: Math.min(
        Number(this.#read("proc/sys/kernel/pid_max")) || Number.POSITIVE_INFINITY,
        Number(this.#read("proc/sys/kernel/threads-max")) || Number.POSITIVE_INFINITY,
      ),
      load: [Number(loadText[0] ?? 0), Number(loadText[1] ?? 0), Number(loadText[2] ?? 0)],
      pressure: this.#pressure(),
      board: this.#board(),
    };
  }

  #read(path: string): string {
    try {
      return readFileSync(join(this.#root, path), "utf8");
    } catch {
      // Kernels and boards differ in what they offer: absence is an answer.
      return "";
    }
  }

  #names(path: string): string[] {
    try {
      return readdirSync(join(this.#root, path));
    } catch {
      return [];
    }
  }

  #pressure(): NodeSample["pressure"] {
    const kinds = ["cpu", "memory", "io"] as const;
    const found = kinds.map((kind) => [kind, pressureIn(this.#read(`proc/pressure/${kind}`))] as const);
    return Object.fromEntries(found.filter(([, pressure]) => pressure !== undefined));
  }

  #board(): BoardFacts {
    const thermal = "sys/class/thermal";
    const temperatures = this.#names(thermal)
      .filter((name) => name.startsWith("thermal_zone"))
      .flatMap((name) => {
        const text = this.#read(`${thermal}/${name}/temp`).trim();
        const zone = this.#read(`${thermal}/${name}/type`).trim() || name;
        return text === "" ? [] : [{ zone, celsius: Number(text) / 1000 }];
      });
    const throttled = this.#read("sys/devices/platform/soc/soc:firmware/get_throttled").trim();
    const wear = this.#names("sys/block")
      .filter((name) => /^mmcblk\d+$/.test(name))
      .flatMap((device) => {
        const values = this.#read(`sys/block/${device}/device/life_time`).trim().split(/\s+/).map(Number);
        const tenths = Math.max(...values);
        return tenths > 0 ? [{ device, tenths }] : [];
      });
    return { temperatures, wear, ...(throttled === "" ? {} : { throttled: Number.parseInt(throttled, 16) }) };
  }
}

function pairs(text: string, form: RegExp): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, key = "", value] of text.matchAll(form)) found.set(key, Number(value));
  return found;
}

/** Everything but idle and waiting; guests are counted in user time already. */
function cpuTime(stat: string): NodeSample["cpuNs"] {
  const fields = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? "").split(" ").map((field) => BigInt(field || 0));
  const sum = (indexes: readonly number[]) =>
    indexes.reduce((total, index) => total + (fields[index] ?? 0n), 0n) * nsPerTick;
  return { total: sum([0, 1, 2, 5, 6, 7]), user: sum([0, 1]), system: sum([2, 5, 6]) };
}
