// NodeAffinity: the pod's preferred node affinity terms, by their weights.

import { matchesNodeSelectorTerm } from "../kit/objects/node-affinity.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/scheduling.ts";
import { normalizeByMax } from "./normalize.ts";

const score: ScorePlugin = {
  name: "NodeAffinity",
  weight: 2,
  prepare: (pod) => pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? skip,
  score(pod, { node }) {
    const terms = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    return terms.reduce(
      (sum, { weight, preference }) => sum + (matchesNodeSelectorTerm(preference, node) ? weight : 0),
      0,
    );
  },
  normalize: (scores) => normalizeByMax(scores),
};

export const nodeAffinityScore: Plugin<ScorePlugin> = { kind: scoreKind, name: "NodeAffinity", open: () => score };
