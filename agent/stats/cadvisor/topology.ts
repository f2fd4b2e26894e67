// How processors, cores and caches stand together, from the kernel's own tree.

import { readdirSync, readFileSync } from "node:fs";

const cpuFolder = "/sys/devices/system/cpu";

interface Cache {
  readonly id: number;
  readonly size: number;
  readonly type: string;
  readonly level: number;
}

interface Core {
  readonly core_id: number;
  readonly thread_ids: number[];
  readonly caches: readonly Cache[];
  readonly socket_id: number;
}

/** Boards have one memory node, and machines with several tell which processors stand at which. */
export function topology(memoryBytes: number, hugepages: readonly object[]): object[] {
  const nodes = numbered("/sys/devices/system/node", "node");
  const threads = numbered(cpuFolder, "cpu");
  if (nodes.length === 0) return [nodeOf(0, threads, memoryBytes, hugepages)];
  return nodes.map((node) => {
    const folder = `/sys/devices/system/node/node${node}`;
    const own = threads.filter((thread) => read(`${folder}/cpu${thread}/topology/core_id`) !== "");
    const kb = /MemTotal:\s+(\d+) kB/.exec(read(`${folder}/meminfo`))?.[1];
    return nodeOf(node, own, kb === undefined ? memoryBytes : Number(kb) * 1024, hugepages);
  });
}

/** How many cores and sockets the machine has; a kernel that tells nothing has a core for each processor in one socket. */
export function coreCounts(processors: number): { readonly cores: number; readonly sockets: number } {
  const cores = new Set<string>();
  const sockets = new Set<string>();
  for (const thread of numbered(cpuFolder, "cpu")) {
    const socket = read(`${cpuFolder}/cpu${thread}/topology/physical_package_id`);
    const core = read(`${cpuFolder}/cpu${thread}/topology/core_id`);
    if (core === "") continue;
    sockets.add(socket);
    cores.add(`${socket}/${core}`);
  }
  return { cores: cores.size || processors, sockets: sockets.size || 1 };
}

function nodeOf(id: number, threads: readonly number[], memory: number, hugepages: readonly object[]): object {
  const cores = new Map<string, Core>();
  const shared = new Map<string, Cache>();
  for (const thread of threads) {
    const at = `${cpuFolder}/cpu${thread}`;
    const core = Number(read(`${at}/topology/core_id`) || thread);
    const socket = Math.max(0, Number(read(`${at}/topology/physical_package_id`) || 0));
    const known = cores.get(`${socket}/${core}`);
    if (known) {
      known.thread_ids.push(thread);
      continue;
    }
    const caches = cachesOf(at);
    for (const cache of caches) if (cache.level >= 3) shared.set(`${cache.level}/${cache.id}`, cache);
    const own = caches.filter(({ level }) => level < 3);
    cores.set(`${socket}/${core}`, { core_id: core, thread_ids: [thread], caches: own, socket_id: socket });
  }
  return { node_id: id, memory, hugepages, cores: [...cores.values()], caches: [...shared.values()] };
}

function cachesOf(at: string): Cache[] {
  return numbered(`${at}/cache`, "index").map((index) => {
    const of = (file: string) => read(`${at}/cache/index${index}/${file}`);
    const [, count = "0", unit] = /^(\d+)([KM]?)/.exec(of("size")) ?? [];
    const size = Number(count) * (unit === "M" ? 1024 * 1024 : unit === "K" ? 1024 : 1);
    return { id: Number(of("id") || 0), size, type: of("type"), level: Number(of("level") || 0) };
  });
}

function numbered(folder: string, prefix: string): number[] {
  const form = new RegExp(`^${prefix}(\\d+)$`);
  try {
    return readdirSync(folder)
      .flatMap((name) => Number(form.exec(name)?.[1] ?? Number.NaN))
      .filter((id) => !Number.isNaN(id))
      .sort((a, b) => a - b);
  } catch {
    // Not every kernel tells.
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
