// A profile: which filters and scores judge the pods of one scheduler name, in order, with their weights, and what is done between
// a decision and its binding.

import type {
  FilterPlugin,
  PlacementPlugin,
  PlacementSteps,
  QueueSortPlugin,
  ScorePlugin,
} from "../../plugins/kit/contracts/scheduling.ts";

export interface Profile {
  readonly schedulerName: string;
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly { readonly plugin: ScorePlugin; readonly weight: number }[];
  /** Steps besides those that filters have. */
  readonly placement?: readonly PlacementPlugin[];
  /** False where only plugins may bind. */
  readonly bindsByApi?: boolean;
  /** Of all nodes, how many that fit are enough; a share by their number when absent. */
  readonly percentageOfNodesToScore?: number;
  /** False where no pod has to go for another. */
  readonly preempts?: boolean;
  /** How many nodes preemption tries for real. */
  readonly candidates?: CandidateCount;
}

/** A share of the nodes where preemption could help, and at least so many. */
export interface CandidateCount {
  readonly percentage: number;
  readonly absolute: number;
}

/** Every plugin that is there to choose from, in the order they are asked. */
export interface Available {
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
  readonly placement?: readonly PlacementPlugin[];
  readonly queueSorts?: readonly QueueSortPlugin[];
}

export const defaultSchedulerName = "default-scheduler";

/** Everything that needs no arguments. */
export function defaultProfile({ filters, scores, placement = [] }: Available): Profile {
  return {
    schedulerName: defaultSchedulerName,
    filters: filters.filter((plugin) => !plugin.needsArguments),
    scores: scores
      .filter((plugin) => plugin.weight > 0 && !plugin.needsArguments)
      .map((plugin) => ({ plugin, weight: plugin.weight })),
    placement: placement.filter((plugin) => !plugin.needsArguments),
  };
}

/** Every plugin with something to do after a decision, in order. */
export function placementSteps(
  profile: Profile,
): readonly (PlacementSteps & Pick<PlacementPlugin, "name" | "retryOn">)[] {
  return profile.placement?.length ? [...profile.filters, ...profile.placement] : profile.filters;
}
