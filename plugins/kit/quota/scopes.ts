// Which objects a quota speaks of: its scopes and scope selector. Pure.

import type { GroupResource } from "../kube/cluster-view.ts";
import type { Container, KubeObject, Pod } from "../kube/objects/types.ts";

export interface ResourceQuota extends KubeObject {
  spec?: {
    hard?: Record<string, string>;
    scopes?: string[];
    scopeSelector?: { matchExpressions?: ScopeExpression[] };
  };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}

interface ScopeExpression {
  scopeName: string;
  operator: string;
  values?: string[];
}

/** True when every scope of the quota holds for the object. Scopes speak of pods only: others never match a scoped quota. */
export function isInScope(quota: ResourceQuota, of: GroupResource, object: KubeObject): boolean {
  const expressions: ScopeExpression[] = [
    ...(quota.spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...(quota.spec?.scopeSelector?.matchExpressions ?? []),
  ];
  if (expressions.length === 0) return true;
  if (of.group !== "" || of.plural !== "pods") return false;
  return expressions.every((expression) => holds(expression, object as unknown as Pod));
}

function holds({ scopeName, operator, values = [] }: ScopeExpression, pod: Pod): boolean {
  switch (scopeName) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return isBestEffort(pod);
    case "NotBestEffort":
      return !isBestEffort(pod);
    case "CrossNamespacePodAffinity":
      return crossesNamespaces(pod);
    case "PriorityClass":
      return matchesClass(operator, values, pod.spec?.priorityClassName ?? "");
    default:
      return false;
  }
}

const isTerminating = (pod: Pod) => (pod.spec?.activeDeadlineSeconds ?? -1) >= 0;

function isBestEffort(pod: Pod): boolean {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])] as Container[];
  const isCompute = (list: object | undefined) =>
    Object.entries(list ?? {}).some(
      ([name, value]) => (name === "cpu" || name === "memory") && !/^0[a-zA-Z]*$/.test(String(value)),
    );
  return !containers.some(({ resources }) => isCompute(resources?.requests) || isCompute(resources?.limits));
}

function matchesClass(operator: string, values: readonly string[], name: string): boolean {
  if (operator === "Exists") return name !== "";
  if (operator === "DoesNotExist") return name === "";
  if (operator === "In") return values.includes(name);
  return operator === "NotIn" && !values.includes(name);
}

interface AffinityTerm {
  namespaces?: unknown[];
  namespaceSelector?: unknown;
}

function crossesNamespaces(pod: Pod): boolean {
  const affinities = [pod.spec?.affinity?.podAffinity, pod.spec?.affinity?.podAntiAffinity];
  const terms = affinities.flatMap((each) => [
    ...((each?.requiredDuringSchedulingIgnoredDuringExecution ?? []) as AffinityTerm[]),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }) => podAffinityTerm as AffinityTerm,
    ),
  ]);
  return terms.some((term) => (term.namespaces?.length ?? 0) > 0 || term.namespaceSelector !== undefined);
}
