// NodeAffinity: the pod's nodeSelector and required node affinity, and what the profile requires for every pod.

import { checkSettings } from "../kit/base/config-check.ts";
import {
  matchesNodeSelection,
  matchesNodeSelectorTerm,
  type NodeSelectorTerm,
} from "../kit/kube/objects/node-affinity.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";
import { nodeAffinityArguments } from "../kit/scheduling/scheduling-arguments.ts";

const refusal = { reasons: ["node(s) didn't match Pod's node affinity/selector"], final: true };
const enforced = { reasons: ["node(s) didn't match scheduler-enforced node affinity"], final: true };

const filterOf = (added: readonly NodeSelectorTerm[] | undefined): FilterPlugin => ({
  name: "NodeAffinity",
  retryOn: ["Node/Add", "Node/Update"],
  withArguments(raw, where) {
    const { addedAffinity } = checkSettings(raw, nodeAffinityArguments, where);
    return filterOf(addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms);
  },
  prepare: ({ spec }) =>
    added || spec?.nodeSelector || spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ? undefined
      : skip,
  filter(pod, { node }) {
    if (added && !added.some((term) => matchesNodeSelectorTerm(term, node))) return enforced;
    return matchesNodeSelection(pod, node) ? undefined : refusal;
  },
});

export const nodeAffinity: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "NodeAffinity",
  open: () => filterOf(undefined),
};
