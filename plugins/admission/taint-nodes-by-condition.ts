// A node begins with a taint that keeps pods off until its first good report.

import type { Node } from "../kit/kube/objects/types.ts";
import { isWriteOf, step } from "./step.ts";

const key = "node.kubernetes.io/not-ready";

export const taintNodesByCondition = step("TaintNodesByCondition", () => ({
  handles: (request) => isWriteOf(request, "", "nodes", "CREATE"),
  mutate({ object }) {
    const node = object as unknown as Node;
    const spec = (node.spec ??= {});
    if (spec.taints?.some((taint) => taint.key === key && taint.effect === "NoSchedule")) return;
    spec.taints = [...(spec.taints ?? []), { key, effect: "NoSchedule" }];
  },
}));
