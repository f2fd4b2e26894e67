// NodeAffinity: the preferred node affinity terms of the pod, and of the profile for every pod, by their weights.

import { checkSettings } from "../kit/base/config-check.ts";
import { matchesNodeSelectorTerm, type PreferredSchedulingTerm } from "../kit/kube/objects/node-affinity.ts";
import type { Pod } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";
import { nodeAffinityArguments } from "../kit/scheduling/scheduling-arguments.ts";
import { normalizeByMax } from "./normalize.ts";

const preferred = (pod: Pod) =>
  pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution as
    | readonly PreferredSchedulingTerm[]
    | undefined;

const scoreOf = (added: readonly PreferredSchedulingTerm[]): ScorePlugin => ({
  name: "NodeAffinity",
  weight: 2,
  withArguments(raw, where) {
    const { addedAffinity } = checkSettings(raw, nodeAffinityArguments, where);
    return scoreOf(addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []);
  },
  prepare(pod) {
    const own = preferred(pod);
    return own === undefined && added.length === 0 ? skip : [...added, ...(own ?? [])];
  },
  score(_pod, { node }, prepared) {
    const terms = prepared as readonly PreferredSchedulingTerm[];
    return terms.reduce(
      (sum, { weight, preference }) => sum + (matchesNodeSelectorTerm(preference, node) ? weight : 0),
      0,
    );
  },
  normalize: (scores) => normalizeByMax(scores),
});

export const nodeAffinityScore: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "NodeAffinity",
  open: () => scoreOf([]),
};
