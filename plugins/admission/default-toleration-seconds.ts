// A pod that says nothing about it stays five minutes on a node that is not ready or cannot be reached.

import type { Pod } from "../kit/kube/objects/types.ts";
import { isWriteOf, step } from "./step.ts";

const taints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

export const defaultTolerationSeconds = step("DefaultTolerationSeconds", () => ({
  handles: (request) => isWriteOf(request, "", "pods", "CREATE", "UPDATE"),
  mutate(request) {
    const spec = (request.object as unknown as Pod).spec;
    if (!spec) return;
    for (const key of taints) {
      const isTolerated = spec.tolerations?.some(
        (each) => (each.key === key || !each.key) && (each.effect === "NoExecute" || !each.effect),
      );
      if (isTolerated) continue;
      const added = { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 } as const;
      spec.tolerations = [...(spec.tolerations ?? []), added];
    }
  },
}));
