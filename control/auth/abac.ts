// Attribute-based authorization from a policy file: one JSON object a line, each allowing what it matches.

import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Authorizer } from "./contract.ts";
import type { Attributes } from "../machinery/attributes.ts";

interface Policy {
  user?: string;
  group?: string;
  readonly?: boolean;
  apiGroup?: string;
  resource?: string;
  namespace?: string;
  nonResourcePath?: string;
}

/** `name` is told in errors. Fault `invalid` names the line. */
export function abacAuthorizer(text: string, name: string): Authorizer {
  const policies: Policy[] = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "" || line.trim().startsWith("#")) return;
    policies.push(readLine(line, `${name} line ${index + 1}`));
  });
  return {
    name: "ABAC",
    async authorize(attributes) {
      const isAllowed = policies.some((policy) => matches(policy, attributes));
      return isAllowed ? { answer: "allow", reason: "" } : { answer: "no-opinion", reason: "No policy matched." };
    },
    rules(user, namespace) {
      const own = policies.filter((policy) => matchesSubject(policy, user));
      const verbs = (policy: Policy) => (policy.readonly ? ["get", "list", "watch"] : ["*"]);
      return {
        resourceRules: own
          .filter((policy) => policy.resource && (policy.namespace === "*" || policy.namespace === namespace))
          .map((policy) => ({
            verbs: verbs(policy),
            apiGroups: [policy.apiGroup ?? ""],
            resources: [policy.resource ?? ""],
          })),
        nonResourceRules: own
          .filter((policy) => policy.nonResourcePath)
          .map((policy) => ({ verbs: verbs(policy), nonResourceURLs: [policy.nonResourcePath ?? ""] })),
        incomplete: false,
      };
    },
  };
}

function readLine(line: string, where: string): Policy {
  let value: { kind?: unknown; spec?: unknown };
  try {
    value = JSON.parse(line) as typeof value;
  } catch (cause) {
    throw new Fault("invalid", `Cannot read ABAC policy ${where}: not JSON`, { cause });
  }
  const spec = value?.spec;
  if (value?.kind !== "Policy" || typeof spec !== "object" || spec === null) {
    throw new Fault("invalid", `Cannot read ABAC policy ${where}: not a Policy with a spec`);
  }
  return spec as Policy;
}

function matches(policy: Policy, { user, verb, resource, path }: Attributes): boolean {
  if (!matchesSubject(policy, user)) return false;
  if (policy.readonly && !["get", "list", "watch"].includes(verb)) return false;
  const fits = (pattern: string | undefined, value: string) => pattern === "*" || (pattern ?? "") === value;
  if (resource) {
    return (
      fits(policy.namespace, resource.namespace) &&
      policy.resource !== undefined &&
      fits(policy.resource, resource.plural) &&
      fits(policy.apiGroup, resource.group)
    );
  }
  const wanted = policy.nonResourcePath;
  if (wanted === undefined || path === undefined) return false;
  return wanted === "*" || wanted === path || (wanted.endsWith("*") && path.startsWith(wanted.slice(0, -1)));
}

function matchesSubject(policy: Policy, user: { name: string; groups: readonly string[] }): boolean {
  const { user: name = "", group = "" } = policy;
  if (name === "" && group === "") return false;
  const isUser = name === "" || name === user.name || (name === "*" && user.groups.includes("system:authenticated"));
  const isGroup =
    group === "" || user.groups.includes(group) || (group === "*" && user.groups.includes("system:authenticated"));
  return isUser && isGroup;
}
