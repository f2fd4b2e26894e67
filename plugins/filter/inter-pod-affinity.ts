// InterPodAffinity: pods that must, or must not, share a topology domain with other pods. Also keeps the promise that pods which
// are there already made about newcomers by their own anti-affinity.

import { type AffinityMatcher, affinityMatcher, requiredTerms } from "../kit/scheduling/pod-affinity.ts";
import type { Namespace, Pod } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import {
  type ClusterView,
  type FilterPlugin,
  type FilterResult,
  filterKind,
  type NodeView,
  skip,
} from "../kit/contracts/scheduling.ts";

/** How many pods speak for or against each domain, by topology key and value. */
type Domains = Map<string, Map<string, number>>;

interface State {
  readonly affinity: readonly AffinityMatcher[];
  readonly antiAffinity: readonly AffinityMatcher[];
  readonly wanted: Domains;
  readonly unwanted: Domains;
  /** Domains that pods already there keep this one out of. */
  readonly refused: Domains;
  readonly namespaceOf: (name: string) => Namespace | undefined;
  readonly incoming: Pod;
}

const refusals = {
  affinity: { reasons: ["node(s) didn't match pod affinity rules"], final: true },
  antiAffinity: { reasons: ["node(s) didn't match pod anti-affinity rules"], final: false },
  existing: { reasons: ["node(s) didn't satisfy existing pods anti-affinity rules"], final: false },
} satisfies Record<string, FilterResult>;

function count(domains: Domains, node: NodeView, topologyKey: string, by: number): void {
  const value = node.node.metadata.labels?.[topologyKey];
  if (value === undefined) return;
  let byValue = domains.get(topologyKey);
  if (!byValue) domains.set(topologyKey, (byValue = new Map()));
  const sum = (byValue.get(value) ?? 0) + by;
  if (sum !== 0) byValue.set(value, sum);
  else if (byValue.delete(value) && byValue.size === 0) domains.delete(topologyKey);
}

function has(domains: Domains, node: NodeView, topologyKey: string): boolean {
  const value = node.node.metadata.labels?.[topologyKey];
  return value !== undefined && domains.get(topologyKey)?.has(value) === true;
}

/** What a pod says of each domain it is in: which counts it belongs to, and by which topology keys. */
function voices(state: State, pod: Pod): { readonly domains: Domains; readonly topologyKey: string }[] {
  const isWanted = state.affinity.length > 0 && state.affinity.every((term) => term.matches(pod));
  return [
    ...(isWanted ? state.affinity.map(({ topologyKey }) => ({ domains: state.wanted, topologyKey })) : []),
    ...state.antiAffinity
      .filter((term) => term.matches(pod))
      .map(({ topologyKey }) => ({ domains: state.unwanted, topologyKey })),
    ...requiredTerms(pod, "podAntiAffinity")
      .filter((term) => affinityMatcher(pod, term, state.namespaceOf).matches(state.incoming))
      .map(({ topologyKey }) => ({ domains: state.refused, topologyKey })),
  ];
}

function prepare(pod: Pod, cluster: ClusterView): State | typeof skip {
  const namespaceOf = (name: string) => cluster.get<Namespace>("namespaces", "", name);
  const matchers = (kind: "podAffinity" | "podAntiAffinity") =>
    requiredTerms(pod, kind).map((term) => affinityMatcher(pod, term, namespaceOf));
  const state: State = {
    affinity: matchers("podAffinity"),
    antiAffinity: matchers("podAntiAffinity"),
    wanted: new Map(),
    unwanted: new Map(),
    refused: new Map(),
    namespaceOf,
    incoming: pod,
  };
  const hasOwn = state.affinity.length > 0 || state.antiAffinity.length > 0;
  for (const group of cluster.groups) {
    if (!hasOwn && !group.pod.spec?.affinity?.podAntiAffinity) continue;
    const said = voices(state, group.pod);
    if (said.length === 0) continue;
    for (const [nodeName, pods] of group.countByNode) {
      const node = cluster.nodeNamed(nodeName);
      if (node) for (const { domains, topologyKey } of said) count(domains, node, topologyKey, pods);
    }
  }
  return !hasOwn && state.refused.size === 0 ? skip : state;
}

const copyOf = (domains: Domains): Domains => new Map([...domains].map(([key, byValue]) => [key, new Map(byValue)]));

const filter: FilterPlugin = {
  name: "InterPodAffinity",
  retryOn: ["Pod/*", "Node/Add", "Node/Update", "Namespace/Update"],
  prepare,
  filter(pod, node, prepared) {
    const { affinity, antiAffinity, wanted, unwanted, refused } = prepared as State;
    const hasKeys = affinity.every((term) => node.node.metadata.labels?.[term.topologyKey] !== undefined);
    const isFirst = wanted.size === 0 && affinity.every((term) => term.matches(pod));
    if (!hasKeys || !(isFirst || affinity.every((term) => has(wanted, node, term.topologyKey))))
      return refusals.affinity;
    if (antiAffinity.some((term) => has(unwanted, node, term.topologyKey))) return refusals.antiAffinity;
    for (const key of refused.keys()) if (has(refused, node, key)) return refusals.existing;
    return undefined;
  },
  changed(prepared, node, pod, change) {
    const by = change === "added" ? 1 : -1;
    for (const { domains, topologyKey } of voices(prepared as State, pod)) count(domains, node, topologyKey, by);
  },
  copy(prepared) {
    const state = prepared as State;
    return { ...state, wanted: copyOf(state.wanted), unwanted: copyOf(state.unwanted), refused: copyOf(state.refused) };
  },
};

export const interPodAffinity: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "InterPodAffinity",
  open: () => filter,
};
