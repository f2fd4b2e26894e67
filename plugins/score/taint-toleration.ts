// TaintToleration: fewer PreferNoSchedule taints that the pod does not tolerate are better.

import { toleratesTaint } from "../kit/kube/objects/tolerations.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";
import { normalizeByMax } from "./normalize.ts";

const score: ScorePlugin = {
  name: "TaintToleration",
  weight: 3,
  prepare: (_pod, _cluster, feasible) =>
    feasible.some(({ node }) => node.spec?.taints?.some((taint) => taint.effect === "PreferNoSchedule"))
      ? undefined
      : skip,
  score(pod, { node }) {
    const soft = node.spec?.taints?.filter((taint) => taint.effect === "PreferNoSchedule") ?? [];
    return soft.filter((taint) => !pod.spec?.tolerations?.some((toleration) => toleratesTaint(toleration, taint)))
      .length;
  },
  normalize: (scores) => normalizeByMax(scores, true),
};

export const taintTolerationScore: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "TaintToleration",
  open: () => score,
};
