// The Node authorizer: a node may do what the system:node role says, but reads secrets, config maps, claims, volumes and
// asks for tokens only for pods bound to it, and touches only its own node, lease and CSI node. Never denies.

import type { Authorizer, Decision } from "../contract.ts";
import { bootstrapClusterRoles } from "../rbac/bootstrap-roles.ts";
import { ruleMatchesPath, ruleMatchesResource } from "../rbac/objects.ts";
import { checks } from "./checks.ts";
import { NodeGraph, type NodeViews } from "./graph.ts";

/** The node that a user is; undefined for everybody else. */
function nodeNameOf(user: { name: string; groups: readonly string[] }): string | undefined {
  const prefix = "system:node:";
  if (!user.groups.includes("system:nodes") || !user.name.startsWith(prefix)) return undefined;
  return user.name.slice(prefix.length) || undefined;
}

export function nodeAuthorizer(views: NodeViews): Authorizer {
  const graph = new NodeGraph(views);
  const rules = bootstrapClusterRoles().find(({ name }) => name === "system:node")?.rules ?? [];
  return {
    name: "Node",
    async authorize({ user, verb, resource, path }) {
      const node = nodeNameOf(user);
      if (!node) return noOpinion("");
      if (!resource) {
        const isAllowed = rules.some((rule) => ruleMatchesPath(rule, verb, path ?? ""));
        return isAllowed ? allow : noOpinion("");
      }
      const check = checks[`${resource.group}/${resource.plural}`];
      if (check) {
        const answer = check(node, verb, resource, graph);
        return answer === true ? allow : noOpinion(answer);
      }
      return rules.some((rule) => ruleMatchesResource(rule, { verb, ...resource })) ? allow : noOpinion("");
    },
    // A node's permissions follow from the pods on it and cannot be listed.
    rules: (user) => ({ resourceRules: [], nonResourceRules: [], incomplete: nodeNameOf(user) !== undefined }),
  };
}

const allow: Decision = { answer: "allow", reason: "" };
const noOpinion = (reason: string): Decision => ({ answer: "no-opinion", reason });
