// ValidatingAdmissionPolicy and its bindings.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notListed,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { dns1035Label, dnsSubdomain, qualifiedName } from "../names.ts";
import { checkParamKind, checkParamRef } from "./parameter-access.ts";
import {
  type MatchCondition,
  type MatchRule,
  validateConditions,
  validateMatchPolicy,
  validateNamedRule,
  validateSelectors,
} from "./validate-match.ts";

interface PolicySpec {
  paramKind?: { apiVersion?: string; kind?: string };
  failurePolicy?: string;
  matchConstraints?: {
    matchPolicy?: string;
    namespaceSelector?: unknown;
    objectSelector?: unknown;
    resourceRules?: MatchRule[];
    excludeResourceRules?: MatchRule[];
  };
  validations?: { expression?: string; reason?: string | null }[];
  auditAnnotations?: { key?: string; valueExpression?: string }[];
  variables?: { name?: string; expression?: string }[];
  matchConditions?: MatchCondition[];
}

interface BindingSpec {
  policyName?: string;
  paramRef?: { name?: string; namespace?: string; selector?: unknown; parameterNotFoundAction?: string };
  validationActions?: string[];
  matchResources?: PolicySpec["matchConstraints"];
}

const group = "admissionregistration.k8s.io";
const version = "v1";
const actions = ["Audit", "Deny", "Warn"];
const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const notFoundActions = ["Deny", "Allow"];
const policyOf = (object: KubeObject) => (object.spec ?? {}) as PolicySpec;
const bindingOf = (object: KubeObject) => (object.spec ?? {}) as BindingSpec;

function defaultMatch(match: PolicySpec["matchConstraints"]): void {
  if (!match) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of match.resourceRules ?? []) rule.scope ??= "*";
}

function validateMatch(match: PolicySpec["matchConstraints"], at: string): FieldErrors {
  if (!match) return [];
  const rules = (["resourceRules", "excludeResourceRules"] as const).flatMap((name) =>
    (match[name] ?? []).flatMap((rule, index) => validateNamedRule(rule, `${at}.${name}[${index}]`)),
  );
  return [...rules, ...validateMatchPolicy(match.matchPolicy, `${at}.matchPolicy`), ...validateSelectors(match, at)];
}

function validateVariables(variables: NonNullable<PolicySpec["variables"]>): FieldErrors {
  const errors: FieldErrors = [];
  variables.forEach(({ name = "", expression = "" }, index) => {
    const at = `spec.variables[${index}]`;
    if (name === "") errors.push(required(`${at}.name`, "name is not specified"));
    else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name))
      errors.push(invalid(`${at}.name`, name, "name is not a valid CEL identifier"));
    if (expression.trim() === "") errors.push(required(`${at}.expression`, "expression is not specified"));
  });
  return errors;
}

/** Keys stand behind the policy's name in the audit log. */
function validateAnnotations(annotations: NonNullable<PolicySpec["auditAnnotations"]>, policy: string): FieldErrors {
  const errors: FieldErrors = [];
  annotations.forEach(({ key = "", valueExpression = "" }, index) => {
    const at = `spec.auditAnnotations[${index}]`;
    for (const problem of qualifiedName(`${policy}/${key}`))
      errors.push(invalid(`${at}.key`, `${policy}/${key}`, problem));
    if (annotations.findIndex((one) => (one.key ?? "") === key) < index) errors.push(duplicate(`${at}.key`, key));
    if (valueExpression.trim() === "")
      errors.push(required(`${at}.valueExpression`, "valueExpression is not specified"));
  });
  return errors;
}

function validateParamKind({ apiVersion = "", kind = "" }: NonNullable<PolicySpec["paramKind"]>): FieldErrors {
  const errors: FieldErrors = [];
  const field = "spec.paramKind.apiVersion";
  const [group, name, ...rest] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  if (apiVersion === "") errors.push(required(field));
  else if (rest.length > 0) errors.push(invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  else {
    if (group) for (const problem of dnsSubdomain(group)) errors.push(invalid(field, group, problem));
    for (const problem of dns1035Label(name ?? "")) errors.push(invalid(field, name, problem));
  }
  if (kind === "") errors.push(required("spec.paramKind.kind"));
  else {
    const problems = dns1035Label(kind.toLowerCase());
    if (problems.length > 0)
      errors.push(
        invalid("spec.paramKind.kind", kind, `may have mixed case, but should otherwise match: ${problems.join(",")}`),
      );
  }
  return errors;
}

function validateParamRef(ref: NonNullable<BindingSpec["paramRef"]>): FieldErrors {
  const errors: FieldErrors = [];
  const { name, selector, parameterNotFoundAction: action } = ref;
  if (!name && !selector) errors.push(required("spec.paramRef", "one of name or selector must be specified"));
  if (name && selector) errors.push(forbidden("spec.paramRef.name", "name and selector are mutually exclusive"));
  if (!action) errors.push(required("spec.paramRef.parameterNotFoundAction"));
  else if (!notFoundActions.includes(action))
    errors.push(notListed("spec.paramRef.parameterNotFoundAction", action, notFoundActions));
  return errors;
}

export const admissionPolicies: ResourceDefinition = {
  group,
  version,
  plural: "validatingadmissionpolicies",
  needsResourceVersion: true,
  singular: "validatingadmissionpolicy",
  kind: "ValidatingAdmissionPolicy",
  namespaced: false,
  categories: ["api-extensions"],
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Validations", "How many rules it has.", "integer"),
    column("ParamKind", "The kind of its parameters."),
    ageColumn,
  ],
  cells(object, now) {
    const { paramKind, validations } = policyOf(object);
    return [
      object.metadata.name,
      validations?.length ?? 0,
      paramKind ? `${paramKind.apiVersion ?? ""}/${paramKind.kind ?? ""}` : "<unset>",
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    policyOf(object).failurePolicy ??= "Fail";
    defaultMatch(policyOf(object).matchConstraints);
  },
  validate(object) {
    const spec = policyOf(object);
    const errors: FieldErrors = spec.paramKind ? validateParamKind(spec.paramKind) : [];
    if (!spec.matchConstraints) errors.push(required("spec.matchConstraints"));
    else if ((spec.matchConstraints.resourceRules?.length ?? 0) === 0)
      errors.push(required("spec.matchConstraints.resourceRules"));
    if ((spec.validations?.length ?? 0) === 0 && (spec.auditAnnotations?.length ?? 0) === 0)
      errors.push(required("spec.validations", "validations or auditAnnotations must contain at least one item"));
    (spec.validations ?? []).forEach((one, index) => {
      if (!one.expression?.trim())
        errors.push(required(`spec.validations[${index}].expression`, "expression is not specified"));
      if (one.reason != null && !reasons.includes(one.reason))
        errors.push(notSupported(`spec.validations[${index}].reason`, one.reason, reasons));
    });
    errors.push(
      ...validateMatch(spec.matchConstraints, "spec.matchConstraints"),
      ...validateVariables(spec.variables ?? []),
      ...validateAnnotations(spec.auditAnnotations ?? [], object.metadata.name ?? ""),
      ...validateConditions(spec.matchConditions, "spec.matchConditions"),
    );
    if (!["Fail", "Ignore"].includes(spec.failurePolicy ?? ""))
      errors.push(notSupported("spec.failurePolicy", spec.failurePolicy, ["Fail", "Ignore"]));
    return errors;
  },
  validateLater: (object, previous, context) =>
    checkParamKind(policyOf(object).paramKind, previous && policyOf(previous).paramKind, context),
};

export const admissionPolicyBindings: ResourceDefinition = {
  group,
  version,
  plural: "validatingadmissionpolicybindings",
  needsResourceVersion: true,
  singular: "validatingadmissionpolicybinding",
  kind: "ValidatingAdmissionPolicyBinding",
  namespaced: false,
  categories: ["api-extensions"],
  hasGeneration: true,
  columns: [
    nameColumn,
    column("PolicyName", "Which policy it puts to work."),
    column("ParamRef", "With which parameters."),
    ageColumn,
  ],
  cells(object, now) {
    const { policyName, paramRef } = bindingOf(object);
    return [
      object.metadata.name,
      policyName ?? "",
      paramRef
        ? paramRef.namespace
          ? `${paramRef.namespace}/${paramRef.name ?? "*"}`
          : (paramRef.name ?? "*")
        : "<unset>",
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults: (object) => defaultMatch(bindingOf(object).matchResources),
  validate(object) {
    const spec = bindingOf(object);
    const errors: FieldErrors = [];
    if (!spec.policyName) errors.push(required("spec.policyName"));
    else
      for (const problem of dnsSubdomain(spec.policyName))
        errors.push(invalid("spec.policyName", spec.policyName, problem));
    if (spec.paramRef) errors.push(...validateParamRef(spec.paramRef));
    errors.push(...validateMatch(spec.matchResources, "spec.matchResources"));
    if ((spec.validationActions?.length ?? 0) === 0)
      errors.push(required("spec.validationActions", "at least one validation action is required"));
    spec.validationActions?.forEach((action, index, all) => {
      const field = `spec.validationActions[${index}]`;
      if (!actions.includes(action)) errors.push(notSupported(field, action, actions));
      if (all.indexOf(action) < index) errors.push(duplicate(field, action));
    });
    if (["Deny", "Warn"].every((action) => spec.validationActions?.includes(action)))
      errors.push(
        invalid(
          "spec.validationActions",
          spec.validationActions,
          "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
        ),
      );
    return errors;
  },
  async validateLater(object, _previous, context) {
    const { policyName = "", paramRef } = bindingOf(object);
    const policy = context.stored({ group, plural: "validatingadmissionpolicies" }, policyName);
    return checkParamRef(paramRef, policy && policyOf(policy).paramKind, context);
  },
};
