// MostAllocated: packs pods together, so that whole nodes stay free. Off by default; a profile turns it on.

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

const usedPoints = (used: number, most: number) => (used > most ? 100 : Math.floor((used * 100) / most));

const scoreOf = (resources: readonly ResourceWeight[]): ScorePlugin => ({
  name: "MostAllocated",
  weight: 0,
  withArguments: (raw, where) => scoreOf(strategyResources(raw, where)),
  prepare: (pod) => countedFor(resources, podWeight(pod)),
  score: (_pod, { allocatable, weight }, prepared) =>
    meanPoints(allocatable, weight, prepared as Counted[], usedPoints),
});

export const mostAllocated: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "MostAllocated",
  open: () => scoreOf(cpuAndMemory),
};
