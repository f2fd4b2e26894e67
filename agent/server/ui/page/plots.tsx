// The plots of a node or container: CPU, memory, network, disk.

import type { HistoryPoint } from "../../../stats/history.ts";
import { Plot } from "./plot.tsx";
import { bytes, cores } from "./words.ts";

const rate = (value: number) => `${bytes(value)}/s`;

/** Counters become rates between points. */
function rates(points: readonly HistoryPoint[], of: "rx" | "tx" | "read" | "written"): number[] {
  return points.map((point, index) => {
    const before = points[index - 1];
    if (!before || point.at <= before.at) return 0;
    return Math.max(0, ((point[of] - before[of]) * 1000) / (point.at - before.at));
  });
}

interface PlotsProps {
  readonly points: readonly HistoryPoint[];
  /** What there is in all, where that is known. */
  readonly most?: { readonly cores: number; readonly memory: number };
}

export function Plots({ points, most }: PlotsProps) {
  const times = points.map(({ at }) => at / 1000);
  const cpu = [{ label: "", color: "#0b62c4", values: points.map(({ milliCpu }) => milliCpu) }];
  const memory = [{ label: "", color: "#8250df", values: points.map((point) => point.memory) }];
  const network = [
    { label: "in", color: "#1a7f37", values: rates(points, "rx") },
    { label: "out", color: "#c2620b", values: rates(points, "tx") },
  ];
  const disk = [
    { label: "read", color: "#1a7f37", values: rates(points, "read") },
    { label: "write", color: "#c2620b", values: rates(points, "written") },
  ];
  return (
    <div class="cards">
      <Plot title="CPU" times={times} series={cpu} show={cores} of={most ? `of ${most.cores} cores` : ""} />
      <Plot
        title="Memory"
        times={times}
        series={memory}
        show={bytes}
        of={most ? `of ${bytes(most.memory)}` : ""}
        isBytes
      />
      <Plot title="Network" times={times} series={network} show={rate} isBytes />
      <Plot title="Disk" times={times} series={disk} show={rate} isBytes />
    </div>
  );
}
