// Samples as the runtime tells them, for containers whose cgroup the agent cannot find.

import type { Runtime } from "../../cri/api/contract.ts";
import { ListContainerStatsRequest } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";

export async function runtimeSamples(
  runtime: Runtime["runtime"],
  now: number,
  call: Call,
): Promise<ReadonlyMap<string, CgroupSample>> {
  const { stats } = await runtime.listContainerStats(ListContainerStatsRequest.create({}), call);
  return new Map(
    stats.map(({ attributes, cpu, memory, swap }) => {
      const of = (value: { value: bigint } | undefined) => Number(value?.value ?? 0n);
      const sample: CgroupSample = {
        at: cpu?.timestamp ? Number(cpu.timestamp / 1_000_000n) : now,
        ...(cpu ? { cpu: { usageNs: cpu.usageCoreNanoSeconds?.value ?? 0n } } : {}),
        ...(memory
          ? {
              memory: {
                usageBytes: of(memory.usageBytes),
                workingSetBytes: of(memory.workingSetBytes),
                rssBytes: of(memory.rssBytes),
                swapBytes: of(swap?.swapUsageBytes),
                pageFaults: of(memory.pageFaults),
                majorPageFaults: of(memory.majorPageFaults),
              },
            }
          : {}),
      };
      return [attributes?.id ?? "", sample] as const;
    }),
  );
}
