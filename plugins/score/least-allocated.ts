// LeastAllocated: prefers the node with the largest free share of its resources after taking the pod.

import { podWeight } from "../kit/kube/pod-requests.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind } from "../kit/contracts/scheduling.ts";
import {
  type Counted,
  countedFor,
  cpuAndMemory,
  meanPoints,
  type ResourceWeight,
  strategyResources,
} from "./allocated.ts";

const freePoints = (used: number, most: number) => (used > most ? 0 : Math.floor(((most - used) * 100) / most));

const scoreOf = (resources: readonly ResourceWeight[]): ScorePlugin => ({
  name: "LeastAllocated",
  weight: 1,
  withArguments: (raw, where) => scoreOf(strategyResources(raw, where)),
  prepare: (pod) => countedFor(resources, podWeight(pod)),
  score: (_pod, { allocatable, weight }, prepared) =>
    meanPoints(allocatable, weight, prepared as Counted[], freePoints),
});

export const leastAllocated: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "LeastAllocated",
  open: () => scoreOf(cpuAndMemory),
};
