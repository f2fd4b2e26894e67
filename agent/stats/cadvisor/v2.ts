// Versions 2.0 and 2.1 of cAdvisor's REST API.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import { json } from "../../server/answers.ts";
import { kubeletVersion } from "../../node/node-status.ts";
import { familyOf, type Looked, type Point } from "./containers.ts";
import { derivedDocument } from "./derived.ts";
import { machineFsDocument, storageDocument } from "./filesystems.ts";
import { processList } from "./processes.ts";
import type { Ask, Asked } from "./routes.ts";
import { specDocument } from "./spec-document.ts";
import {
  cpuDocument,
  diskDocument,
  interfacesDocument,
  loadOf,
  memoryDocument,
  processDocument,
  tasksDocument,
  timeOf,
} from "./stats-document.ts";
import { aliasesOf } from "./containers.ts";
import { aliased } from "./v1.ts";
import type { Look } from "./view.ts";

const usualCount = 64;

function options(query: URLSearchParams): { count: number; isRecursive: boolean; type: string; maxAgeMs: number } {
  const type = query.get("type") || "name";
  if (!["name", "docker", "podman"].includes(type)) throw new Fault("invalid", `unknown 'type' "${type}"`);
  const count = query.get("count") ? Number(query.get("count")) : usualCount;
  if (!Number.isInteger(count) || count < -1)
    throw new Fault("invalid", `invalid 'count' option: only -1 and larger values allowed, not ${query.get("count")}`);
  const age = query.get("max_age");
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(age ?? "") ?? [];
  if (age && !amount) throw new Fault("invalid", `failed to parse 'max_age' option: ${age}`);
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const maxAgeMs = amount ? Number(amount) * (units[unit ?? ""] ?? 1) : Number.POSITIVE_INFINITY;
  return { count, isRecursive: query.get("recursive") === "true", type, maxAgeMs };
}

function asked({ name, rest, request }: Asked, look: Look): Looked[] {
  const { isRecursive, type } = options(request.query);
  if (type === "name") {
    const found = familyOf(look.all, name);
    if (!look.all.has(name)) throw new Fault("not-found", `unknown container ${JSON.stringify(name)}`);
    return isRecursive ? found : found.filter((one) => one.name === name);
  }
  const wanted = rest.join("/");
  if (wanted !== "") return [aliased(look, wanted)];
  if (!isRecursive) throw new Fault("invalid", `a container's name is needed with type=${type}, or recursive=true`);
  return [...look.all.values()].filter(({ container }) => container);
}

async function each(ask: Asked, of: (one: Looked, look: Look) => unknown): Promise<Response> {
  const look = await ask.view.look();
  const found: Record<string, unknown> = {};
  for (const one of asked(ask, look)) found[one.name] = await of(one, look);
  return json(found);
}

export const versionV2: Ask = async () => json(kubeletVersion);

export const attributesV2: Ask = async ({ view }) => {
  const machine = (await view.machine()) as Record<string, unknown>;
  const { name, version, api } = await view.runtime();
  const isDocker = name === "docker";
  const shared = ["num_cores", "cpu_frequency_khz", "memory_capacity", "machine_id", "system_uuid", "hugepages"];
  const more = ["filesystems", "disk_map", "network_devices", "topology", "cloud_provider", "instance_type", "board"];
  return json({
    kernel_version: view.machineFacts.kernelVersion,
    container_os_version: view.machineFacts.osImage,
    docker_version: isDocker ? version : "",
    docker_api_version: isDocker ? api : "",
    cadvisor_version: kubeletVersion,
    ...Object.fromEntries([...shared, ...more].map((key) => [key, machine[key]])),
  });
};

export const summaryV2: Ask = (ask) =>
  each(ask, (one) => derivedDocument(ask.view.usageOf(one), ask.view.options.clock.now()));

export const specV2: Ask = (ask) => each(ask, (one, look) => specOf(ask, one, look));

function specOf({ view }: Asked, one: Looked, { namespace }: Look): object {
  const own = one.container ? { aliases: aliasesOf(one), namespace } : {};
  return { ...specDocument(one, view.facts), ...own };
}

async function points(ask: Asked, one: Looked, signal: AbortSignal): Promise<readonly Point[]> {
  const { count, maxAgeMs } = options(ask.request.query);
  const found = await ask.view.pointsOf(one, count, { signal });
  const now = ask.view.options.clock.now();
  return found.filter(({ sample }) => now - sample.at <= maxAgeMs);
}

export const statsV20: Ask = (ask, { signal }) =>
  each(ask, async (one, look) => {
    const found = await points(ask, one, signal);
    return found.map(({ sample, network, tasks }, index) => {
      const filesystem = index === found.length - 1 ? ask.view.filesystemsOf(look, one) : [];
      return {
        timestamp: timeOf(sample.at),
        has_cpu: true,
        cpu: { ...cpuDocument(sample), load_average: loadOf(tasks) },
        ...instant(found, index),
        has_diskio: true,
        diskio: diskDocument(sample),
        has_memory: true,
        memory: memoryDocument(sample),
        has_hugetlb: false,
        has_network: network !== undefined,
        network: interfacesDocument(network ?? []),
        has_processes: true,
        processes: processDocument(sample),
        has_filesystem: filesystem.length > 0,
        filesystem,
        has_load: tasks !== undefined,
        load_stats: tasksDocument(tasks),
        has_custom_metrics: false,
      };
    });
  });

/** With the spec beside; the machine itself has a path of its own. */
export const statsV21: Ask = async (ask, { signal }) => {
  const look = await ask.view.look();
  const found: Record<string, object> = {};
  for (const one of asked(ask, look)) {
    if (one.name === "/") continue;
    const taken = await points(ask, one, signal);
    const stats = taken.map(({ sample, network, tasks }, index) => ({
      timestamp: timeOf(sample.at),
      cpu: { ...cpuDocument(sample), load_average: loadOf(tasks) },
      ...instant(taken, index),
      diskio: diskDocument(sample),
      memory: memoryDocument(sample),
      ...(network ? { network: interfacesDocument(network) } : {}),
      processes: processDocument(sample),
      ...(tasks ? { load_stats: tasksDocument(tasks) } : {}),
      ...(index === taken.length - 1 ? written(look, one) : {}),
    }));
    found[one.name] = { spec: specOf(ask, one, look), stats };
  }
  return json(found);
};

function written({ disk }: Look, { pod, container }: Looked): object {
  const root = pod && container && disk.pods.get(pod.metadata.uid)?.roots.get(container.id);
  if (!root || !container) return {};
  const logs = disk.pods.get(pod.metadata.uid)?.logs.get(container.id)?.bytes ?? 0;
  // Upstream's own spelling.
  const inodes = { containter_inode_usage: root.inodes };
  return { filesystem: { totalUsageBytes: root.bytes + logs, baseUsageBytes: root.bytes, ...inodes } };
}

export const machineStatsV21: Ask = async (ask, { signal }) => {
  const look = await ask.view.look();
  const found = await points(ask, ask.view.named(look, "/"), signal);
  return json(
    found.map(({ sample, network }, index) => ({
      timestamp: timeOf(sample.at),
      cpu: cpuDocument(sample),
      ...instant(found, index),
      memory: memoryDocument(sample),
      network: interfacesDocument(network ?? []),
      ...(index === found.length - 1 ? { filesystem: look.mounted.map(machineFsDocument) } : {}),
    })),
  );
};

/** Billionths of a CPU between this point and the one before. */
function instant(all: readonly Point[], index: number): object {
  const [before, now] = [all[index - 1]?.sample, all[index]?.sample];
  if (!before?.cpu || !now?.cpu || now.at <= before.at) return {};
  const rate = (later = 0n, earlier = 0n) => {
    const used = Number(later - earlier);
    return used < 0 ? 0 : Math.round((used * 1000) / (now.at - before.at));
  };
  const usage = {
    total: rate(now.cpu.usageNs, before.cpu.usageNs),
    user: rate(now.cpu.userNs, before.cpu.userNs),
    system: rate(now.cpu.systemNs, before.cpu.systemNs),
  };
  return { cpu_inst: { usage } };
}

export const storageV2: Ask = async ({ view, request }) => {
  const label = request.query.get("label");
  const { mounted } = await view.look();
  const wanted = label ? mounted.filter(({ labels }) => labels.includes(label)) : mounted;
  if (label && wanted.length === 0) throw new Fault("not-found", `no filesystem has the label ${label}`);
  return json(wanted.map((one) => storageDocument(one, view.options.clock.now())));
};

export const processesV2: Ask = async (ask) => {
  const look = await ask.view.look();
  const { cgroups, bootedAt, clock } = ask.view.options;
  return json(
    asked(ask, look).flatMap(({ name }) =>
      processList(name === "/" ? cgroups.processes("/") : cgroups.allProcesses(name), {
        bootedAt,
        now: clock.now(),
        cgroup: name,
      }),
    ),
  );
};
