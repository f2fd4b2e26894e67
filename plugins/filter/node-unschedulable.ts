// NodeUnschedulable: a cordoned node takes only pods that tolerate its cordon.

import { toleratesTaint } from "../kit/kube/objects/tolerations.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind } from "../kit/contracts/scheduling.ts";

const cordon = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;
const refusal = { reasons: ["node(s) were unschedulable"], final: true };

const filter: FilterPlugin = {
  name: "NodeUnschedulable",
  retryOn: ["Node/Add", "Node/Update"],
  filter(pod, { node }) {
    if (!node.spec?.unschedulable) return undefined;
    return pod.spec?.tolerations?.some((toleration) => toleratesTaint(toleration, cordon)) ? undefined : refusal;
  },
};

export const nodeUnschedulable: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "NodeUnschedulable",
  open: () => filter,
};
