// A profile: which filters and scores judge the pods of one scheduler name, in order, with their weights.

import type { FilterPlugin, ScorePlugin } from "../../plugins/kit/scheduling.ts";

export interface Profile {
  readonly schedulerName: string;
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly { readonly plugin: ScorePlugin; readonly weight: number }[];
  /** Of all nodes, how many that fit are enough; a share by their number when absent. */
  readonly percentageOfNodesToScore?: number;
  /** False where no pod has to go for another. */
  readonly preempts?: boolean;
}

/** Every plugin that is there to choose from, in the order they are asked. */
export interface Available {
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

export const defaultSchedulerName = "default-scheduler";

/** Everything that needs no arguments. */
export function defaultProfile({ filters, scores }: Available): Profile {
  return {
    schedulerName: defaultSchedulerName,
    filters: filters.filter((plugin) => !plugin.withArguments),
    scores: scores
      .filter((plugin) => plugin.weight > 0 && !plugin.withArguments)
      .map((plugin) => ({ plugin, weight: plugin.weight })),
  };
}
