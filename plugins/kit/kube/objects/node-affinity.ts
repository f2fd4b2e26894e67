// Node selectors and node affinity terms, matched against a node's labels and fields.

import type { Node, Pod } from "./types.ts";

interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

export interface PreferredSchedulingTerm {
  readonly weight: number;
  readonly preference: NodeSelectorTerm;
}

function holds(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return isInteger(value) && isInteger(values[0]) && Number(value) > Number(values[0]);
    case "Lt":
      return isInteger(value) && isInteger(values[0]) && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^-?\d+$/.test(text);
}

/** A term without any requirement matches nothing. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  return (
    expressions.every((requirement) => holds(requirement, node.metadata.labels?.[requirement.key])) &&
    fields.every((requirement) =>
      holds(requirement, requirement.key === "metadata.name" ? node.metadata.name : undefined),
    )
  );
}

/** The pod's nodeSelector and its required node affinity. */
export function matchesNodeSelection(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels;
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {})) if (labels?.[key] !== value) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || required.nodeSelectorTerms.some((term) => matchesNodeSelectorTerm(term, node));
}
