// A pod's use as the sum of its containers', for pods without a cgroup that the agent knows.

import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";
import type { ContainerUsage } from "./usage.ts";

export function sumOf(containers: readonly ContainerUsage[], at: number): CgroupSample {
  const samples = containers.map(({ sample }) => sample);
  const memories = samples.flatMap(({ memory }) => memory ?? []);
  const total = (of: (memory: (typeof memories)[number]) => number | undefined) =>
    memories.reduce((sum, memory) => sum + (of(memory) ?? 0), 0);
  return {
    at: samples[0]?.at ?? at,
    cpu: { usageNs: samples.reduce((sum, { cpu }) => sum + (cpu?.usageNs ?? 0n), 0n) },
    memory: {
      usageBytes: total((memory) => memory.usageBytes),
      workingSetBytes: total((memory) => memory.workingSetBytes),
      rssBytes: total((memory) => memory.rssBytes),
      swapBytes: total((memory) => memory.swapBytes),
      pageFaults: total((memory) => memory.pageFaults),
      majorPageFaults: total((memory) => memory.majorPageFaults),
    },
    processes: samples.reduce((sum, { processes }) => sum + (processes ?? 0), 0),
  };
}
