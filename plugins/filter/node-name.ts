// NodeName: a pod that names its node runs on no other.

import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";
import type { Plugin } from "../kit/base/plugin.ts";

const refusal = { reasons: ["node(s) didn't match the requested node name"], final: true };

const filter: FilterPlugin = {
  name: "NodeName",
  retryOn: ["Node/Add"],
  prepare: (pod) => (pod.spec?.nodeName ? undefined : skip),
  filter: (pod, node) => (pod.spec?.nodeName === node.name ? undefined : refusal),
};

export const nodeName: Plugin<FilterPlugin> = { kind: filterKind, name: "NodeName", open: () => filter };
