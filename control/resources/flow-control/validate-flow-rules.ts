// Validation of whom and what a flow schema is for.

import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain } from "../names.ts";

interface Subject {
  kind?: string;
  user?: { name?: string } | null;
  group?: { name?: string } | null;
  serviceAccount?: { name?: string; namespace?: string } | null;
}

interface ResourceRule {
  verbs?: string[] | null;
  apiGroups?: string[] | null;
  resources?: string[] | null;
  namespaces?: string[] | null;
  clusterScope?: boolean;
}

interface NonResourceRule {
  verbs?: string[] | null;
  nonResourceURLs?: string[] | null;
}

export interface FlowRule {
  subjects?: Subject[] | null;
  resourceRules?: ResourceRule[] | null;
  nonResourceRules?: NonResourceRule[] | null;
}

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const subjectFields = { Group: "group", ServiceAccount: "serviceAccount", User: "user" } as const;

export function validateFlowRule(rule: FlowRule, at: string, errors: FieldErrors): void {
  const { subjects, resourceRules, nonResourceRules } = rule;
  if (!subjects?.length) errors.push(required(`${at}.subjects`, "subjects must contain at least one value"));
  subjects?.forEach((subject, index) => validateSubject(subject, `${at}.subjects[${index}]`, errors));
  if (!resourceRules?.length && !nonResourceRules?.length)
    errors.push(required(at, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  resourceRules?.forEach((one, index) => validateResourceRule(one, `${at}.resourceRules[${index}]`, errors));
  nonResourceRules?.forEach((one, index) => validateNonResourceRule(one, `${at}.nonResourceRules[${index}]`, errors));
}

function validateSubject(subject: Subject, at: string, errors: FieldErrors): void {
  const kind = subject.kind ?? "";
  if (!Object.hasOwn(subjectFields, kind)) {
    errors.push(notSupported(`${at}.kind`, kind, Object.keys(subjectFields)));
    return;
  }
  for (const [wanted, name] of Object.entries(subjectFields)) {
    const value = subject[name];
    const field = `${at}.${name}`;
    if (kind !== wanted) {
      if (value) errors.push(forbidden(field, `${name} is forbidden when subject kind is not '${wanted}'`));
    } else if (!value) errors.push(required(field, `${name} is required when subject kind is '${wanted}'`));
    else if (!value.name) errors.push(required(`${field}.name`));
  }
  if (kind === "ServiceAccount" && subject.serviceAccount)
    validateServiceAccount(subject.serviceAccount, `${at}.serviceAccount`, errors);
}

function validateServiceAccount(
  { name, namespace }: NonNullable<Subject["serviceAccount"]>,
  at: string,
  errors: FieldErrors,
): void {
  if (name && name !== "*") for (const problem of dnsSubdomain(name)) errors.push(invalid(`${at}.name`, name, problem));
  if (!namespace) errors.push(required(`${at}.namespace`, "must specify namespace for service account"));
  else for (const problem of dnsLabel(namespace)) errors.push(invalid(`${at}.namespace`, namespace, problem));
}

/** Whether the list can be looked at one by one: it has members, and none of them means all. */
function isListed(
  list: readonly string[] | undefined | null,
  field: string,
  words: { none: string; others: string },
  errors: FieldErrors,
): list is readonly string[] {
  if (!list?.length) {
    errors.push(required(field, words.none));
    return false;
  }
  if (!list.includes("*")) return true;
  if (list.length > 1) errors.push(invalid(field, list, `if '*' is present, must not specify other ${words.others}`));
  return false;
}

function validateVerbs(list: string[] | undefined | null, field: string, errors: FieldErrors): void {
  const words = { none: "verbs must contain at least one value", others: "verbs" };
  if (isListed(list, field, words, errors) && !list.every((verb) => verbs.includes(verb)))
    errors.push(notSupported(field, list, verbs));
}

function validateResourceRule(rule: ResourceRule, at: string, errors: FieldErrors): void {
  validateVerbs(rule.verbs, `${at}.verbs`, errors);
  isListed(
    rule.apiGroups,
    `${at}.apiGroups`,
    { none: "resource rules must supply at least one api group", others: "api groups" },
    errors,
  );
  isListed(
    rule.resources,
    `${at}.resources`,
    { none: "resource rules must supply at least one resource", others: "resources" },
    errors,
  );
  if (rule.clusterScope && !rule.namespaces?.length) return;
  const words = {
    none: "resource rules that are not cluster scoped must supply at least one namespace",
    others: "namespaces",
  };
  const field = `${at}.namespaces`;
  if (!isListed(rule.namespaces, field, words, errors)) return;
  rule.namespaces.forEach((namespace, index) => {
    for (const problem of dnsLabel(namespace))
      errors.push(
        invalid(
          `${field}[${index}]`,
          namespace,
          `each member of this list must be '*' or a DNS-1123 label; ${problem}`,
        ),
      );
  });
}

function validateNonResourceRule(rule: NonResourceRule, at: string, errors: FieldErrors): void {
  validateVerbs(rule.verbs, `${at}.verbs`, errors);
  const field = `${at}.nonResourceURLs`;
  const words = { none: "nonResourceURLs must contain at least one value", others: "non-resource URLs" };
  if (!isListed(rule.nonResourceURLs, field, words, errors)) return;
  rule.nonResourceURLs.forEach((path, index) => {
    const problem = urlProblem(path);
    if (problem) errors.push(invalid(`${field}[${index}]`, path, problem));
  });
}

function urlProblem(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  return path.replace(/\/\*$/, "").includes("*") ? "wildcard can only do suffix matching" : undefined;
}
