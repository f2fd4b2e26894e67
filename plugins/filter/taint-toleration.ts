// TaintToleration: a node's NoSchedule and NoExecute taints keep away every pod that does not tolerate them.

import { untoleratedTaint } from "../kit/kube/objects/tolerations.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind } from "../kit/contracts/scheduling.ts";

const effects = ["NoSchedule", "NoExecute"];

const filter: FilterPlugin = {
  name: "TaintToleration",
  retryOn: ["Node/Add", "Node/Update"],
  filter(pod, { node }) {
    const taint = untoleratedTaint(node.spec?.taints, pod.spec?.tolerations, effects);
    if (!taint) return undefined;
    return { reasons: [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`], final: true };
  },
};

export const taintToleration: Plugin<FilterPlugin> = { kind: filterKind, name: "TaintToleration", open: () => filter };
