// ValidatingAdmissionPolicy and its bindings.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, notSupported, required, invalid } from "../field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface PolicySpec {
  paramKind?: { apiVersion?: string; kind?: string };
  failurePolicy?: string;
  matchConstraints?: {
    matchPolicy?: string;
    namespaceSelector?: unknown;
    objectSelector?: unknown;
    resourceRules?: { scope?: string }[];
  };
  validations?: { expression?: string }[];
  auditAnnotations?: unknown[];
}

interface BindingSpec {
  policyName?: string;
  paramRef?: { name?: string; namespace?: string };
  validationActions?: string[];
  matchResources?: PolicySpec["matchConstraints"];
}

const group = "admissionregistration.k8s.io";
const version = "v1";
const actions = ["Audit", "Deny", "Warn"];
const policyOf = (object: KubeObject) => (object.spec ?? {}) as PolicySpec;
const bindingOf = (object: KubeObject) => (object.spec ?? {}) as BindingSpec;

function defaultMatch(match: PolicySpec["matchConstraints"]): void {
  if (!match) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of match.resourceRules ?? []) rule.scope ??= "*";
}

export const admissionPolicies: ResourceDefinition = {
  group,
  version,
  plural: "validatingadmissionpolicies",
  singular: "validatingadmissionpolicy",
  kind: "ValidatingAdmissionPolicy",
  namespaced: false,
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
    const errors: FieldErrors = [];
    if (!spec.matchConstraints) errors.push(required("spec.matchConstraints"));
    else if ((spec.matchConstraints.resourceRules?.length ?? 0) === 0)
      errors.push(required("spec.matchConstraints.resourceRules"));
    if ((spec.validations?.length ?? 0) === 0 && (spec.auditAnnotations?.length ?? 0) === 0)
      errors.push(required("spec.validations", "validations or auditAnnotations must contain at least one item"));
    (spec.validations ?? []).forEach((one, index) => {
      if (!one.expression?.trim())
        errors.push(required(`spec.validations[${index}].expression`, "expression is not specified"));
    });
    if (!["Fail", "Ignore"].includes(spec.failurePolicy ?? ""))
      errors.push(notSupported("spec.failurePolicy", spec.failurePolicy, ["Fail", "Ignore"]));
    return errors;
  },
};

export const admissionPolicyBindings: ResourceDefinition = {
  group,
  version,
  plural: "validatingadmissionpolicybindings",
  singular: "validatingadmissionpolicybinding",
  kind: "ValidatingAdmissionPolicyBinding",
  namespaced: false,
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
    if ((spec.validationActions?.length ?? 0) === 0) errors.push(required("spec.validationActions"));
    for (const action of spec.validationActions ?? [])
      if (!actions.includes(action)) errors.push(notSupported("spec.validationActions", action, actions));
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
};
