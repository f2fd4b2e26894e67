// NodeAffinity: the pod's nodeSelector and required node affinity.

import { matchesNodeSelection } from "../kit/objects/node-affinity.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/scheduling.ts";

const refusal = { reasons: ["node(s) didn't match Pod's node affinity/selector"], final: true };

const filter: FilterPlugin = {
  name: "NodeAffinity",
  retryOn: ["Node/Add", "Node/Update"],
  prepare: (pod) =>
    pod.spec?.nodeSelector || pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ? undefined
      : skip,
  filter: (pod, { node }) => (matchesNodeSelection(pod, node) ? undefined : refusal),
};

export const nodeAffinity: Plugin<FilterPlugin> = { kind: filterKind, name: "NodeAffinity", open: () => filter };
