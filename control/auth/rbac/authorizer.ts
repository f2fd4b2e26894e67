// The RBAC authorizer: allows what some rule of the user's roles allows, and never denies.

import { combinedResource, ruleMatchesPath, ruleMatchesResource } from "./objects.ts";
import type { Authorizer, Decision, PathRule, ResourceRule } from "../contract.ts";
import type { Attributes } from "../../machinery/attributes.ts";
import type { GrantedRule, RuleResolver } from "./resolver.ts";

export function rbacAuthorizer(resolver: RuleResolver): Authorizer {
  return {
    name: "RBAC",
    async authorize(attributes) {
      const namespace = attributes.resource?.namespace ?? "";
      const { rules, problems } = resolver.rulesFor(attributes.user, namespace);
      const allowing = rules.find((granted) => allows(granted, attributes));
      if (allowing) return { answer: "allow", reason: allowing.source() };
      return noOpinion(problems);
    },
    rules(user, namespace) {
      const resourceRules: ResourceRule[] = [];
      const nonResourceRules: PathRule[] = [];
      const { rules, problems } = resolver.rulesFor(user, namespace);
      for (const { rule } of rules) {
        if (rule.resources?.length) {
          resourceRules.push({
            verbs: rule.verbs,
            apiGroups: rule.apiGroups ?? [],
            resources: rule.resources,
            ...(rule.resourceNames?.length ? { resourceNames: rule.resourceNames } : {}),
          });
        }
        if (rule.nonResourceURLs?.length) {
          nonResourceRules.push({ verbs: rule.verbs, nonResourceURLs: rule.nonResourceURLs });
        }
      }
      return { resourceRules, nonResourceRules, incomplete: problems.length > 0 };
    },
  };
}

function allows({ rule }: GrantedRule, { verb, resource, path }: Attributes): boolean {
  if (resource) return ruleMatchesResource(rule, { verb, ...resource });
  return path !== undefined && ruleMatchesPath(rule, verb, path);
}

function noOpinion(problems: readonly string[]): Decision {
  return { answer: "no-opinion", reason: problems.length > 0 ? `RBAC: [${problems.join(", ")}]` : "" };
}

/** The sentence upstream answers a refused request with, behind `… is forbidden: `. */
export function describeRefusal({ user, verb, resource, path }: Attributes, reason: string): string {
  const what = resource
    ? `User "${user.name}" cannot ${verb} resource "${combinedResource(resource.plural, resource.subresource)}" in API group "${resource.group}" ${
        resource.namespace === "" ? "at the cluster scope" : `in the namespace "${resource.namespace}"`
      }`
    : `User "${user.name}" cannot ${verb} path "${path ?? ""}"`;
  return reason === "" ? what : `${what}: ${reason}`;
}
