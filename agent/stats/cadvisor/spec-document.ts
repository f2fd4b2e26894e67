// What a control group is made of and held to, read from the group itself, in the form of cAdvisor's specs.

import { statSync } from "node:fs";
import type { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import type { Looked } from "./containers.ts";
import { timeOf } from "./stats-document.ts";

export interface SpecFacts {
  readonly cgroups: Cgroups;
  /** When the machine was started, by wall time in milliseconds. */
  readonly bootedAt: number;
  readonly memoryBytes: number;
}

interface Limits {
  readonly shares: number;
  readonly quotaUs?: number;
  readonly periodUs?: number;
  readonly cpus: string;
  readonly memoryBytes?: number;
  readonly pids?: number;
}

const noLimit = 2 ** 62;

export function specDocument(looked: Looked, facts: SpecFacts): object {
  const { name, pod, container, points } = looked;
  const limits = limitsOf(facts.cgroups, name);
  const { quotaUs, periodUs } = limits;
  const memoryLimit = name === "/" ? facts.memoryBytes : limits.memoryBytes;
  const newest = points.at(-1);
  return {
    creation_time: timeOf(createdAt(looked, facts)),
    ...(container && container.startedAt > 0 ? { start_time: timeOf(container.startedAt) } : {}),
    ...(pod ? { labels: labelsOf(looked) } : {}),
    has_cpu: true,
    cpu: {
      limit: limits.shares,
      max_limit: 0,
      ...(limits.cpus === "" ? {} : { mask: limits.cpus }),
      ...(quotaUs === undefined ? {} : { quota: quotaUs }),
      ...(periodUs === undefined ? {} : { period: periodUs }),
    },
    has_memory: true,
    memory: memoryLimit === undefined ? {} : { limit: memoryLimit },
    has_hugetlb: false,
    has_network: newest?.network !== undefined,
    has_processes: true,
    processes: limits.pids === undefined ? {} : { limit: limits.pids },
    has_filesystem: name === "/" || container !== undefined,
    has_diskio: true,
    has_custom_metrics: false,
    ...(container ? { image: container.image } : {}),
  };
}

function createdAt({ name, pod, container }: Looked, { cgroups, bootedAt }: SpecFacts): number {
  if (container) return container.createdAt;
  const told = Date.parse(String(pod?.metadata.creationTimestamp ?? pod?.status?.startTime ?? ""));
  if (!Number.isNaN(told)) return told;
  if (name === "/") return bootedAt;
  try {
    return statSync(cgroups.folder(name, cgroups.version === 2 ? "" : "cpu")).mtimeMs;
  } catch {
    return bootedAt;
  }
}

function labelsOf({ pod, container }: Looked): Record<string, string> {
  if (!pod) return {};
  const { name, namespace, uid } = pod.metadata;
  return {
    ...(container ? { "io.kubernetes.container.name": container.name } : {}),
    "io.kubernetes.pod.name": name,
    "io.kubernetes.pod.namespace": namespace,
    "io.kubernetes.pod.uid": uid,
  };
}

function limitsOf(cgroups: Cgroups, path: string): Limits {
  return cgroups.version === 2 ? limitsV2(cgroups, path) : limitsV1(cgroups, path);
}

function limitsV1(cgroups: Cgroups, path: string): Limits {
  const number = (controller: string, file: string) => {
    const text = cgroups.read(path, controller, file)?.trim() ?? "";
    return /^\d+$/.test(text) ? Number(text) : undefined;
  };
  const memory = number("memory", "memory.limit_in_bytes");
  return {
    shares: number("cpu", "cpu.shares") ?? 1024,
    ...given("quotaUs", number("cpu", "cpu.cfs_quota_us")),
    ...given("periodUs", number("cpu", "cpu.cfs_period_us")),
    cpus: cgroups.read(path, "cpuset", "cpuset.cpus")?.trim() ?? "",
    ...given("memoryBytes", memory !== undefined && memory < noLimit ? memory : undefined),
    ...given("pids", number("pids", "pids.max")),
  };
}

function limitsV2(cgroups: Cgroups, path: string): Limits {
  const read = (file: string) => cgroups.read(path, "", file)?.trim() ?? "";
  const number = (text: string | undefined) => (/^\d+$/.test(text ?? "") ? Number(text) : undefined);
  const [quota, period] = read("cpu.max").split(" ");
  const weight = number(read("cpu.weight"));
  return {
    // The inverse of how runtimes make weights of shares.
    shares: weight === undefined ? 1024 : Math.round(2 + ((weight - 1) * 262_142) / 9999),
    ...given("quotaUs", number(quota)),
    ...given("periodUs", number(period)),
    cpus: read("cpuset.cpus.effective"),
    ...given("memoryBytes", number(read("memory.max"))),
    ...given("pids", number(read("pids.max"))),
  };
}

function given<K extends string>(key: K, value: number | undefined): { [key in K]?: number } {
  return (value === undefined ? {} : { [key]: value }) as { [key in K]?: number };
}
