// Terms of inter-pod affinity: which pods a term speaks of, seen from the pod that has it.

import { type LabelSelectorMatcher, labelSelectorOf } from "../kube/selector.ts";
import type { Namespace, Pod } from "../kube/objects/types.ts";

export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly labelSelector?: object;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: object;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** A term ready to be asked about many pods. */
export interface AffinityMatcher {
  readonly topologyKey: string;
  matches(pod: Pod): boolean;
}

interface Compiled {
  readonly selector: LabelSelectorMatcher;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelSelectorMatcher | undefined;
}

/** Pods are never changed in place, and the terms of those already there are asked with every newcomer. */
const compiledByOwner = new WeakMap<Pod, Map<PodAffinityTerm, Compiled>>();

function compile(owner: Pod, term: PodAffinityTerm): Compiled {
  let byTerm = compiledByOwner.get(owner);
  if (!byTerm) compiledByOwner.set(owner, (byTerm = new Map()));
  let compiled = byTerm.get(term);
  if (!compiled) {
    const isOwnOnly = !term.namespaces?.length && !term.namespaceSelector;
    compiled = {
      selector: labelSelectorOf(term.labelSelector && withLabelKeys(owner, term)),
      namespaces: new Set(isOwnOnly ? [owner.metadata.namespace ?? ""] : term.namespaces),
      namespaceSelector: term.namespaceSelector && labelSelectorOf(term.namespaceSelector),
    };
    byTerm.set(term, compiled);
  }
  return compiled;
}

/** `namespaceOf` gives the namespace's labels for terms that select namespaces. */
export function affinityMatcher(
  owner: Pod,
  term: PodAffinityTerm,
  namespaceOf: (name: string) => Namespace | undefined,
): AffinityMatcher {
  const { selector, namespaces, namespaceSelector } = compile(owner, term);
  const isMeant = (namespace: string) =>
    namespaces.has(namespace) ||
    (namespaceSelector !== undefined &&
      (namespaceSelector.isEverything || namespaceSelector.matches(namespaceOf(namespace)?.metadata.labels)));
  return {
    topologyKey: term.topologyKey,
    matches: (pod) => isMeant(pod.metadata.namespace ?? "") && selector.matches(pod.metadata.labels),
  };
}

/** `matchLabelKeys` narrows the selector to the owner's own values, `mismatchLabelKeys` away from them. */
function withLabelKeys(owner: Pod, term: PodAffinityTerm): object {
  const extra = [
    ...(term.matchLabelKeys ?? []).map((key) => ({ key, operator: "In" })),
    ...(term.mismatchLabelKeys ?? []).map((key) => ({ key, operator: "NotIn" })),
  ]
    .map((requirement) => ({ ...requirement, values: [owner.metadata.labels?.[requirement.key] ?? ""] }))
    .filter(({ key }) => owner.metadata.labels?.[key] !== undefined);
  const selector = term.labelSelector as { matchExpressions?: object[] };
  return extra.length === 0
    ? selector
    : { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...extra] };
}

export function requiredTerms(pod: Pod, kind: "podAffinity" | "podAntiAffinity"): readonly PodAffinityTerm[] {
  return (pod.spec?.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ??
    []) as readonly PodAffinityTerm[];
}

export interface WeightedTerm {
  readonly weight: number;
  readonly podAffinityTerm: PodAffinityTerm;
}

export function preferredTerms(pod: Pod, kind: "podAffinity" | "podAntiAffinity"): readonly WeightedTerm[] {
  return (pod.spec?.affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? []) as readonly WeightedTerm[];
}
