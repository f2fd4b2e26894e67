// ServiceAffinity: pods of one service keep to nodes with the same values of certain labels, those of the first pod's node.
// Only in profiles that name the labels.

import { checkSettings, listOf, string } from "../kit/base/config-check.ts";
import type { Pod, Service } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ClusterView, type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";
import { labelSelectorOf } from "../kit/kube/selector.ts";

const name = "ServiceAffinity";
const refusal = { reasons: ["node(s) didn't match service affinity"], final: true };

/** The labels of the node where the first pod of the same service runs. */
function labelsOfSibling(pod: Pod, cluster: ClusterView): Readonly<Record<string, string>> {
  const { namespace, labels } = pod.metadata;
  const selectors = cluster
    .list<Service>("services", namespace)
    .filter(({ spec }) => spec?.selector && Object.keys(spec.selector).length > 0)
    .map(({ spec }) => labelSelectorOf({ matchLabels: spec?.selector as Record<string, string> }))
    .filter((selector) => selector.matches(labels));
  if (selectors.length === 0) return {};
  const isSibling = (other: Pod) =>
    other.metadata.namespace === namespace && selectors.some((selector) => selector.matches(other.metadata.labels));
  return cluster.nodes.find(({ pods }) => pods.some(isSibling))?.node.metadata.labels ?? {};
}

const filter: FilterPlugin = {
  name,
  retryOn: ["Pod/*", "Service/*", "Node/Add", "Node/Update"],
  prepare: () => skip,
  filter: () => undefined,
  needsArguments: true,
  withArguments(raw, where) {
    const { labels } = checkSettings(raw, { labels: listOf(string) }, where);
    return {
      name,
      retryOn: filter.retryOn,
      prepare(pod, cluster) {
        const asked = pod.spec?.nodeSelector ?? {};
        const isOpen = labels.some((label) => asked[label] === undefined);
        const found: Readonly<Record<string, string>> = isOpen ? labelsOfSibling(pod, cluster) : {};
        const wanted = labels
          .map((label) => [label, asked[label] ?? found[label]] as const)
          .filter(([, value]) => value !== undefined);
        return wanted.length === 0 ? skip : wanted;
      },
      filter: (_pod, { node }, prepared) =>
        (prepared as [string, string][]).every(([label, value]) => node.metadata.labels?.[label] === value)
          ? undefined
          : refusal,
    };
  },
};

export const serviceAffinity: Plugin<FilterPlugin> = { kind: filterKind, name, open: () => filter };
