// What is taken in a job but may not turn out as meant.

import { warnOfTemplate } from "../pod-spec/warnings.ts";
import type { JobSpec } from "./job.ts";

const tooManyToTrack =
  "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";

export function warnOfJob(spec: JobSpec | undefined, at: string): string[] {
  if (!spec) return [];
  const { completionMode, completions, parallelism } = spec;
  const isHuge = completionMode === "Indexed" && (completions ?? 0) > 100_000 && (parallelism ?? 0) > 10_000;
  return [...(isHuge ? [`${at}: ${tooManyToTrack}`] : []), ...warnOfTemplate(spec.template, `${at}.template`)];
}
