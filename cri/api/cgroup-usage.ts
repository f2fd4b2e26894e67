// What containers and pods use, as CRI tells it, read from their control groups at the moment of asking. For runtimes on this host.

import { readFileSync } from "node:fs";
import {
  type CpuUsage,
  type IoUsage,
  type MemoryUsage,
  type NetworkInterfaceUsage,
  type PsiStats,
  type SwapUsage,
} from "./gen/runtime.js";
import type { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";

const some = (value: bigint | number) => ({ value: BigInt(value) });

/** Keys and numbers of a flat file such as memory.stat. */
export function pairs(text: string | undefined): Map<string, bigint> {
  const found = new Map<string, bigint>();
  for (const line of (text ?? "").split("\n")) {
    const [key, value] = line.split(" ");
    if (key && value && /^\d+$/.test(value)) found.set(key, BigInt(value));
  }
  return found;
}

/** The number that is all of the text, if it is one. */
export function number(text: string | undefined): bigint | undefined {
  const trimmed = text?.trim() ?? "";
  return /^\d+$/.test(trimmed) ? BigInt(trimmed) : undefined;
}

/** Limits at or above this mean none: version 1 writes the largest multiple of a page. */
const noLimit = 1n << 62n;

/** A group that nobody asked about for so long is gone. */
const forgetNs = 600_000_000_000n;

/** Usage between two looks at the same group. */
export class CpuRates {
  readonly #last = new Map<string, { at: bigint; usage: bigint; rate: bigint }>();

  rate(path: string, at: bigint, usage: bigint): bigint {
    const last = this.#last.get(path);
    // Looks too close together measure noise: the last answer stands.
    if (last && at - last.at < 100_000_000n) return last.rate;
    const rate =
      last && at > last.at && usage >= last.usage ? ((usage - last.usage) * 1_000_000_000n) / (at - last.at) : 0n;
    if (!last) this.#forgetOld(at);
    this.#last.set(path, { at, usage, rate });
    return rate;
  }

  #forgetOld(now: bigint): void {
    for (const [path, { at }] of this.#last) if (now - at > forgetNs) this.#last.delete(path);
  }
}

export function cpuUsage(cgroups: Cgroups, path: string, at: bigint, rates: CpuRates): CpuUsage {
  const usage =
    cgroups.version === 2
      ? (pairs(cgroups.read(path, "cpu", "cpu.stat")).get("usage_usec") ?? 0n) * 1000n
      : (number(cgroups.read(path, "cpuacct", "cpuacct.usage")) ?? 0n);
  const psi = pressure(cgroups.read(path, "cpu", "cpu.pressure"));
  return { timestamp: at, usageCoreNanoSeconds: some(usage), usageNanoCores: some(rates.rate(path, at, usage)), psi };
}

export function memoryUsage(cgroups: Cgroups, path: string, at: bigint): MemoryUsage {
  if (!cgroups.controllers.has("memory")) return residentMemory(cgroups.allProcesses(path), at);
  const isV2 = cgroups.version === 2;
  const stat = pairs(cgroups.read(path, "memory", "memory.stat"));
  const usage = number(cgroups.read(path, "memory", isV2 ? "memory.current" : "memory.usage_in_bytes")) ?? 0n;
  const limit = number(cgroups.read(path, "memory", isV2 ? "memory.max" : "memory.limit_in_bytes"));
  const inactive = stat.get(isV2 ? "inactive_file" : "total_inactive_file") ?? 0n;
  const workingSet = usage > inactive ? usage - inactive : 0n;
  const hasLimit = limit !== undefined && limit < noLimit;
  return {
    timestamp: at,
    workingSetBytes: some(workingSet),
    usageBytes: some(usage),
    rssBytes: some(stat.get(isV2 ? "anon" : "total_rss") ?? 0n),
    pageFaults: some(stat.get(isV2 ? "pgfault" : "total_pgfault") ?? 0n),
    majorPageFaults: some(stat.get(isV2 ? "pgmajfault" : "total_pgmajfault") ?? 0n),
    availableBytes: hasLimit ? some(limit > workingSet ? limit - workingSet : 0n) : undefined,
    psi: pressure(cgroups.read(path, "memory", "memory.pressure")),
  };
}

/** Without a memory controller the processes themselves are asked: pages they share are counted for each. */
function residentMemory(pids: readonly number[], at: bigint): MemoryUsage {
  let kilobytes = 0n;
  for (const pid of pids) {
    try {
      kilobytes += BigInt(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
    } catch {
      // Ended between two looks.
    }
  }
  const resident = some(kilobytes * 1024n);
  return {
    timestamp: at,
    workingSetBytes: resident,
    usageBytes: resident,
    rssBytes: resident,
    pageFaults: undefined,
    majorPageFaults: undefined,
    availableBytes: undefined,
    psi: undefined,
  };
}

export function swapUsage(cgroups: Cgroups, path: string, at: bigint): SwapUsage {
  const isV2 = cgroups.version === 2;
  const used = isV2
    ? (number(cgroups.read(path, "memory", "memory.swap.current")) ?? 0n)
    : (pairs(cgroups.read(path, "memory", "memory.stat")).get("total_swap") ?? 0n);
  const limit = isV2 ? number(cgroups.read(path, "memory", "memory.swap.max")) : undefined;
  return {
    timestamp: at,
    swapUsageBytes: some(used),
    swapAvailableBytes: limit === undefined ? undefined : some(limit > used ? limit - used : 0n),
  };
}

/** How long it waits for disks; undefined where the kernel does not count. */
export function ioUsage(cgroups: Cgroups, path: string, at: bigint): IoUsage | undefined {
  const psi = pressure(cgroups.read(path, "io", "io.pressure"));
  return psi && { timestamp: at, psi };
}

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and the same for `full`. */
export function pressure(text: string | undefined): PsiStats | undefined {
  if (!text) return undefined;
  const line = (kind: string) => {
    const match = new RegExp(`^${kind} avg10=(\\S+) avg60=(\\S+) avg300=(\\S+) total=(\\d+)`, "m").exec(text);
    return match
      ? {
          Avg10: Number(match[1]),
          Avg60: Number(match[2]),
          Avg300: Number(match[3]),
          Total: BigInt(match[4] as string) * 1000n,
        }
      : undefined;
  };
  return { Some: line("some"), Full: line("full") };
}

/** Counters of each interface, from the text of a network namespace's `/proc/…/net/dev`. */
export function interfacesOf(text: string): NetworkInterfaceUsage[] {
  return text
    .split("\n")
    .slice(2)
    .flatMap((line) => {
      const [name, counters] = line.trim().split(/:\s*/);
      if (!name || !counters || name === "lo") return [];
      const fields = counters.split(/\s+/).map((field) => some(BigInt(field)));
      return [{ name, rxBytes: fields[0], rxErrors: fields[2], txBytes: fields[8], txErrors: fields[10] }];
    });
}
