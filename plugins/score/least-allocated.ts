// LeastAllocated: prefers the node with the largest free share of CPU and memory after taking the pod.

import { podAmounts } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind } from "../kit/scheduling.ts";
import { sharesWith } from "./allocated.ts";
import { withDefaultRequests } from "./default-requests.ts";

const score: ScorePlugin = {
  name: "LeastAllocated",
  weight: 1,
  prepare: (pod) => withDefaultRequests(pod.spec ? podAmounts(pod.spec) : new Map()),
  score(_pod, node, wanted) {
    const shares = sharesWith(node, wanted as Amounts);
    const free = shares.reduce((sum, share) => sum + Math.floor((1 - share) * 100), 0);
    return shares.length === 0 ? 0 : Math.floor(free / shares.length);
  },
};

export const leastAllocated: Plugin<ScorePlugin> = { kind: scoreKind, name: "LeastAllocated", open: () => score };
