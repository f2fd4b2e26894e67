// cAdvisor's summary document: means and percentiles of CPU and memory over the last minute, hour and day, as far back as is remembered.

import { timeOf } from "./stats-document.ts";

export interface UsagePoint {
  readonly at: number;
  readonly milliCpu: number;
  readonly memory: number;
}

const windows = { minute_usage: 60_000, hour_usage: 3_600_000, day_usage: 86_400_000 } as const;

export function derivedDocument(points: readonly UsagePoint[], now: number): object {
  const newest = points.at(-1);
  const usages = Object.entries(windows).map(([name, ms]) => {
    const within = points.filter(({ at }) => now - at <= ms);
    const covered = Math.min(1, (now - (within[0]?.at ?? now)) / ms);
    return [
      name,
      {
        percent_complete: Math.round(covered * 100),
        cpu: percentiles(within.map(({ milliCpu }) => milliCpu)),
        memory: percentiles(within.map(({ memory }) => memory)),
      },
    ];
  });
  return {
    timestamp: timeOf(newest?.at ?? now),
    latest_usage: { cpu: Math.round(newest?.milliCpu ?? 0), memory: newest?.memory ?? 0 },
    ...Object.fromEntries(usages),
  };
}

function percentiles(values: readonly number[]): object {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  const mean = count === 0 ? 0 : sorted.reduce((sum, value) => sum + value, 0) / count;
  const spread = count < 2 ? 0 : Math.sqrt(sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1));
  const at = (part: number) => Math.round(sorted[Math.min(count - 1, Math.floor(part * count))] ?? 0);
  return {
    present: count > 0,
    mean: Math.round(mean),
    std: Math.round(spread),
    max: Math.round(sorted.at(-1) ?? 0),
    fifty: at(0.5),
    ninety: at(0.9),
    ninetyfive: at(0.95),
    count,
  };
}
