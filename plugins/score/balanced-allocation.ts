// BalancedAllocation: prefers the node whose CPU and memory would be used to about the same share.

import { podAmounts } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind, skip } from "../kit/scheduling.ts";
import { sharesWith } from "./allocated.ts";

const score: ScorePlugin = {
  name: "BalancedAllocation",
  weight: 1,
  prepare(pod) {
    const wanted = pod.spec ? podAmounts(pod.spec) : new Map<string, number>();
    // A pod that asks for nothing moves no share.
    return wanted.size === 0 ? skip : wanted;
  },
  score(_pod, node, wanted) {
    const shares = sharesWith(node, wanted as Amounts);
    if (shares.length === 0) return 0;
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    const deviation = Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length);
    return Math.floor((1 - deviation) * 100);
  },
};

export const balancedAllocation: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "BalancedAllocation",
  open: () => score,
};
