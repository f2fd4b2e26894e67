// Whether a FlowSchema speaks of a request: by who asks, and what for.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Attributes } from "../../machinery/attributes.ts";
import type { FlowRule, FlowSubject } from "./types.ts";

const all = "*";
const accountPrefix = "system:serviceaccount:";

export function matchesRules(rules: readonly FlowRule[], attributes: Attributes): boolean {
  for (const rule of rules)
    if (rule.subjects?.some((subject) => isSubject(subject, attributes.user)) && isAsked(rule, attributes)) return true;
  return false;
}

function isSubject({ kind, user, group, serviceAccount }: FlowSubject, { name, groups }: UserInfo): boolean {
  switch (kind) {
    case "User":
      return user?.name === all || user?.name === name;
    case "Group":
      return group?.name === all || groups.includes(group?.name ?? "");
    case "ServiceAccount":
      if (!name.startsWith(accountPrefix)) return false;
      return serviceAccount?.name === all
        ? name.startsWith(`${accountPrefix}${serviceAccount.namespace}:`)
        : name === `${accountPrefix}${serviceAccount?.namespace}:${serviceAccount?.name}`;
    default:
      return false;
  }
}

function isAsked({ resourceRules, nonResourceRules }: FlowRule, { verb, resource, path = "" }: Attributes): boolean {
  if (!resource)
    return (
      nonResourceRules?.some(
        ({ verbs, nonResourceURLs }) => has(verbs, verb) && nonResourceURLs?.some((url) => isUrl(url, path)),
      ) === true
    );
  const { group, plural, subresource, namespace } = resource;
  const name = subresource === "" ? plural : `${plural}/${subresource}`;
  return (
    resourceRules?.some(
      (rule) =>
        has(rule.verbs, verb) &&
        has(rule.apiGroups, group) &&
        has(rule.resources, name) &&
        (namespace === "" ? rule.clusterScope === true : has(rule.namespaces, namespace)),
    ) === true
  );
}

function has(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list[0] === all || list.includes(value));
}

function isUrl(pattern: string, path: string): boolean {
  if (pattern === all || pattern === path) return true;
  return pattern.endsWith("/*") && path.startsWith(pattern.slice(0, -1));
}
