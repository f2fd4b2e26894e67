// The RBAC objects as they travel, and how a rule is matched. Pure.

import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Subject {
  kind: string;
  name: string;
  apiGroup?: string;
  namespace?: string;
}

export interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export interface Role {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  rules?: PolicyRule[] | null;
}

export interface ClusterRole extends Role {
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
}

export interface RoleBinding {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  subjects?: Subject[] | null;
  roleRef: RoleRef;
}

export const rbacGroup = "rbac.authorization.k8s.io";
export const rbacVersion = `${rbacGroup}/v1`;

/** `pods/log` for a subresource, `pods` for the resource itself. */
export function combinedResource(plural: string, subresource: string): string {
  return subresource === "" ? plural : `${plural}/${subresource}`;
}

export function ruleMatchesResource(
  rule: PolicyRule,
  asked: { verb: string; group: string; plural: string; subresource: string; name: string },
): boolean {
  return (
    hasOrAll(rule.verbs, asked.verb) &&
    hasOrAll(rule.apiGroups, asked.group) &&
    matchesResourceName(rule.resources, asked.plural, asked.subresource) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(asked.name))
  );
}

export function ruleMatchesPath(rule: PolicyRule, verb: string, path: string): boolean {
  if (!hasOrAll(rule.verbs, verb)) return false;
  return (rule.nonResourceURLs ?? []).some((url) => pathMatches(url, path));
}

export function pathMatches(pattern: string, path: string): boolean {
  if (pattern === "*" || pattern === path) return true;
  return pattern.endsWith("*") && path.startsWith(pattern.slice(0, -1));
}

function hasOrAll(list: readonly string[] | undefined, wanted: string): boolean {
  return list !== undefined && (list.includes(wanted) || list.includes("*"));
}

function matchesResourceName(list: readonly string[] | undefined, plural: string, subresource: string): boolean {
  if (!list) return false;
  if (list.includes("*") || list.includes(combinedResource(plural, subresource))) return true;
  return subresource !== "" && list.includes(`*/${subresource}`);
}
