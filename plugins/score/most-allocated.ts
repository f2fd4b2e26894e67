// MostAllocated: packs pods together, so that whole nodes stay free. Off by default; a profile turns it on.

import { podWeight } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind } from "../kit/scheduling.ts";
import { meanPoints } from "./allocated.ts";

const usedPoints = (share: number) => Math.floor(share * 100);

const score: ScorePlugin = {
  name: "MostAllocated",
  weight: 0,
  prepare: podWeight,
  score: (_pod, { allocatable, weight }, wanted) =>
    meanPoints({ allocatable, taken: weight }, wanted as Amounts, usedPoints),
};

export const mostAllocated: Plugin<ScorePlugin> = { kind: scoreKind, name: "MostAllocated", open: () => score };
