// Validation of what webhooks and policies are asked about: rules, selectors and conditions.

import { duplicate, type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { type LabelSelector, validateLabelSelector } from "../label-selector.ts";
import { pathSegment, qualifiedName } from "../names.ts";

export interface MatchRule {
  operations?: string[];
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: string;
}

export interface MatchCondition {
  name?: string;
  expression?: string;
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
const matchPolicies = ["Equivalent", "Exact"];

export function validateMatchRule(rule: MatchRule, at: string): FieldErrors {
  const errors: FieldErrors = [];
  if (!rule.operations?.length) errors.push(required(`${at}.operations`));
  if ((rule.operations?.length ?? 0) > 1 && rule.operations?.includes("*"))
    errors.push(invalid(`${at}.operations`, rule.operations, "if '*' is present, must not specify other operations"));
  rule.operations?.forEach((operation, index) => {
    if (!operations.includes(operation)) errors.push(notSupported(`${at}.operations[${index}]`, operation, operations));
  });
  for (const name of ["apiGroups", "apiVersions", "resources"] as const) {
    const list = rule[name] ?? [];
    const field = `${at}.${name}`;
    if (list.length === 0) errors.push(required(field));
    if (name !== "resources" && list.length > 1 && list.includes("*"))
      errors.push(invalid(field, list, `if '*' is present, must not specify other ${wordsOf[name]}`));
    if (name === "apiGroups") continue;
    list.forEach((one, index) => {
      if (one === "") errors.push(required(`${field}[${index}]`));
    });
  }
  if (rule.scope != null && !scopes.includes(rule.scope)) errors.push(notSupported(`${at}.scope`, rule.scope, scopes));
  return errors;
}

/** The same for rules that may name objects. */
export function validateNamedRule(rule: MatchRule & { resourceNames?: string[] }, at: string): FieldErrors {
  const names = rule.resourceNames ?? [];
  return [
    ...names.flatMap((name, index) => {
      const field = `${at}.resourceNames[${index}]`;
      const problems = pathSegment(name).map((problem) => invalid(field, name, problem));
      return names.indexOf(name) < index ? [...problems, duplicate(field, name)] : problems;
    }),
    ...validateMatchRule(rule, at),
  ];
}

const wordsOf = { apiGroups: "API groups", apiVersions: "API versions" } as const;

export function validateMatchPolicy(policy: string | undefined, field: string): FieldErrors {
  return policy === undefined || matchPolicies.includes(policy) ? [] : [notSupported(field, policy, matchPolicies)];
}

export function validateSelectors(
  match: { namespaceSelector?: unknown; objectSelector?: unknown },
  at: string,
): FieldErrors {
  return [
    ...validateLabelSelector(match.namespaceSelector as LabelSelector | undefined, `${at}.namespaceSelector`),
    ...validateLabelSelector(match.objectSelector as LabelSelector | undefined, `${at}.objectSelector`),
  ];
}

/** Whether the expressions compile is looked at when they are admitted. */
export function validateConditions(conditions: readonly MatchCondition[] | undefined, field: string): FieldErrors {
  const errors: FieldErrors = [];
  const names = new Set<string>();
  (conditions ?? []).forEach(({ name = "", expression = "" }, index) => {
    const at = `${field}[${index}]`;
    if (expression.trim() === "") errors.push(required(`${at}.expression`));
    if (name === "") errors.push(required(`${at}.name`));
    else for (const problem of qualifiedName(name)) errors.push(invalid(`${at}.name`, name, problem));
    if (name !== "" && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
  });
  return errors;
}
