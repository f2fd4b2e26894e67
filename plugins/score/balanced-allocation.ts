// BalancedAllocation: prefers the node whose CPU and memory would be used to about the same share.

import { podRequests } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind, skip } from "../kit/scheduling.ts";
import { shareWith } from "./allocated.ts";

const score: ScorePlugin = {
  name: "BalancedAllocation",
  weight: 1,
  prepare(pod) {
    const wanted = podRequests(pod);
    // A pod that asks for nothing moves no share.
    return wanted.size === 0 ? skip : wanted;
  },
  score(_pod, { allocatable, requested }, wanted) {
    const shares = { allocatable, taken: requested };
    const cpu = shareWith(shares, wanted as Amounts, "cpu");
    const memory = shareWith(shares, wanted as Amounts, "memory");
    if (cpu < 0 || memory < 0) return cpu < 0 && memory < 0 ? 0 : 100;
    // The standard deviation of two is half of what is between them.
    return Math.floor((1 - Math.abs(cpu - memory) / 2) * 100);
  },
};

export const balancedAllocation: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "BalancedAllocation",
  open: () => score,
};
