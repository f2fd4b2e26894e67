// LeastAllocated: prefers the node with the largest free share of CPU and memory after taking the pod.

import { podWeight } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind } from "../kit/scheduling.ts";
import { meanPoints } from "./allocated.ts";

const freePoints = (share: number) => Math.floor((1 - share) * 100);

const score: ScorePlugin = {
  name: "LeastAllocated",
  weight: 1,
  prepare: podWeight,
  score: (_pod, { allocatable, weight }, wanted) =>
    meanPoints({ allocatable, taken: weight }, wanted as Amounts, freePoints),
};

export const leastAllocated: Plugin<ScorePlugin> = { kind: scoreKind, name: "LeastAllocated", open: () => score };
