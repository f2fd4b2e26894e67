// NodeResourcesFit: the pod's requests must fit beside those of the pods that are there.

import { checkSettings, listOf, string, that, withDefault } from "../kit/base/config-check.ts";
import { podRequests } from "../kit/kube/pod-requests.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, type FilterResult, filterKind, type NodeView } from "../kit/contracts/scheduling.ts";
import { isLabelKey } from "../kit/kube/selector.ts";

type Wanted = readonly (readonly [resource: string, amount: number])[];

function hasRoom({ allocatable, requested }: NodeView, resource: string, amount: number): boolean {
  return amount <= (allocatable.get(resource) ?? 0) - (requested.get(resource) ?? 0);
}

function refusal(node: NodeView, wanted: Wanted): FilterResult {
  const short = wanted.filter(([resource, amount]) => !hasRoom(node, resource, amount));
  const reasons = short.map(([resource]) => `Insufficient ${resource}`);
  return {
    reasons: hasRoom(node, "pods", 1) ? reasons : ["Too many pods", ...reasons],
    final: false,
  };
}

/** Resources that are looked after elsewhere: extended ones by their name, or by the part before the slash. */
interface Ignored {
  readonly resources: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

/** Names of Kubernetes' own are never ignored: only extended resources can be. */
function isIgnored({ resources, groups }: Ignored, resource: string): boolean {
  const slash = resource.indexOf("/");
  if (slash < 0 || resource.slice(0, slash).endsWith("kubernetes.io")) return false;
  return resources.has(resource) || groups.has(resource.slice(0, slash));
}

const labelName = that(string, isLabelKey, "the name of a resource");
const groupName = that(
  string,
  (name) => isLabelKey(name) && !name.includes("/"),
  "the part of a resource's name before the slash",
);

const argumentShape = {
  ignoredResources: withDefault(listOf(labelName), []),
  ignoredResourceGroups: withDefault(listOf(groupName), []),
};

const filterOf = (ignored?: Ignored): FilterPlugin => ({
  name: "NodeResourcesFit",
  retryOn: ["Pod/Delete", "Pod/Update", "Node/Add", "Node/Update"],
  withArguments(raw, where) {
    const { ignoredResources, ignoredResourceGroups } = checkSettings(raw, argumentShape, where);
    const isAny = ignoredResources.length + ignoredResourceGroups.length > 0;
    return filterOf(
      isAny ? { resources: new Set(ignoredResources), groups: new Set(ignoredResourceGroups) } : undefined,
    );
  },
  prepare: (pod): Wanted =>
    [...podRequests(pod)].filter(([resource, amount]) => amount > 0 && !(ignored && isIgnored(ignored, resource))),
  filter(_pod, node, prepared) {
    const wanted = prepared as Wanted;
    let fits = hasRoom(node, "pods", 1);
    for (let at = 0; fits && at < wanted.length; at++) {
      const [resource, amount] = wanted[at] as Wanted[number];
      fits = hasRoom(node, resource, amount);
    }
    return fits ? undefined : refusal(node, wanted);
  },
});

export const nodeResourcesFit: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "NodeResourcesFit",
  open: () => filterOf(),
};
