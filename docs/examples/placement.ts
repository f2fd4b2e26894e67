// Placement: pods that only make sense together wait for each other before any of them is bound.

import type { PlacementPlugin, Plugin, Pod } from "../../plugins/kit/mod.ts";

const gangLabel = "example.dev/gang";
const sizeLabel = "example.dev/gang-size";
const keyOf = ({ metadata }: Pod) => `${metadata.namespace}/${metadata.labels?.[gangLabel]}`;

function gangs(): PlacementPlugin {
  const held = new Map<string, Map<string, () => void>>();
  return {
    name: "Gangs",
    // Each waits, with its room taken, until as many are there as the label says.
    permit(pod, _node, { signal }) {
      const size = Number(pod.metadata.labels?.[sizeLabel] ?? 1);
      if (size <= 1) return undefined;
      return new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        const gang = held.get(keyOf(pod)) ?? new Map<string, () => void>();
        gang.set(pod.metadata.uid ?? "", () => resolve(undefined));
        held.set(keyOf(pod), gang);
        if (gang.size >= size) for (const go of gang.values()) go();
      });
    },
    // Also called for pods that never waited.
    unreserve: (pod) => void held.get(keyOf(pod))?.delete(pod.metadata.uid ?? ""),
    bound: (pod) => void held.delete(keyOf(pod)),
  };
}

export default { kind: { name: "placement" }, name: "Gangs", open: gangs } satisfies Plugin<PlacementPlugin>;
