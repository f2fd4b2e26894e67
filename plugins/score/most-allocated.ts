// MostAllocated: packs pods together, so that whole nodes stay free. Off by default; a profile turns it on.

import { podAmounts } from "../kit/pod-requests.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind } from "../kit/scheduling.ts";
import { sharesWith } from "./allocated.ts";
import { withDefaultRequests } from "./default-requests.ts";

const score: ScorePlugin = {
  name: "MostAllocated",
  weight: 0,
  prepare: (pod) => withDefaultRequests(pod.spec ? podAmounts(pod.spec) : new Map()),
  score(_pod, node, wanted) {
    const shares = sharesWith(node, wanted as Amounts);
    const used = shares.reduce((sum, share) => sum + Math.floor(share * 100), 0);
    return shares.length === 0 ? 0 : Math.floor(used / shares.length);
  },
};

export const mostAllocated: Plugin<ScorePlugin> = { kind: scoreKind, name: "MostAllocated", open: () => score };
