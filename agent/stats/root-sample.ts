// The machine as the root of all control groups: its own numbers in the form that groups have.

import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";
import type { NodeSample } from "./node-sample.ts";

export function rootSample({ at, cpuNs, memory, processes, pressure }: NodeSample): CgroupSample {
  return {
    at,
    cpu: { usageNs: cpuNs.total, userNs: cpuNs.user, systemNs: cpuNs.system },
    memory: {
      usageBytes: memory.usageBytes,
      workingSetBytes: memory.workingSetBytes,
      rssBytes: memory.rssBytes,
      cacheBytes: memory.cacheBytes,
      mappedFileBytes: memory.mappedFileBytes,
      activeFileBytes: memory.activeFileBytes,
      inactiveFileBytes: memory.inactiveFileBytes,
      kernelBytes: memory.kernelBytes,
      swapBytes: memory.swapUsedBytes,
      pageFaults: memory.pageFaults,
      majorPageFaults: memory.majorPageFaults,
      oomKills: memory.oomKills,
    },
    threads: processes,
    ...(Object.keys(pressure).length > 0 ? { pressure } : {}),
  };
}
