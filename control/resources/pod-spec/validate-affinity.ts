// Validation of where a pod wants to be: node affinity, affinity to other pods, and how replicas spread.

import type { PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { validateLabelSelector } from "../label-selector.ts";
import { dnsSubdomain, dnsLabel, labelValue, qualifiedName } from "../names.ts";

type Affinity = NonNullable<PodSpec["affinity"]>;
type NodeTerm = NonNullable<
  NonNullable<Affinity["nodeAffinity"]>["preferredDuringSchedulingIgnoredDuringExecution"]
>[number]["preference"];
type PodTerm = NonNullable<
  NonNullable<Affinity["podAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>[number];
type Requirement = NonNullable<NodeTerm["matchExpressions"]>[number];

const whenUnsatisfiable = ["DoNotSchedule", "ScheduleAnyway"];
const mandatory = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(affinity: PodSpec["affinity"], field: string, errors: FieldErrors): void {
  const node = affinity?.nodeAffinity;
  if (node) {
    const at = `${field}.nodeAffinity`;
    if (node[mandatory]) validateNodeSelector(node[mandatory], `${at}.${mandatory}`, errors);
    (node[preferred] ?? []).forEach(({ weight, preference }, index) => {
      validateWeight(weight, `${at}.${preferred}[${index}].weight`, errors);
      validateNodeTerm(preference ?? {}, `${at}.${preferred}[${index}].preference`, errors);
    });
  }
  for (const kind of ["podAffinity", "podAntiAffinity"] as const) {
    const at = `${field}.${kind}`;
    (affinity?.[kind]?.[mandatory] ?? []).forEach((term, index) =>
      validatePodTerm(term, `${at}.${mandatory}[${index}]`, errors),
    );
    (affinity?.[kind]?.[preferred] ?? []).forEach(({ weight, podAffinityTerm }, index) => {
      validateWeight(weight, `${at}.${preferred}[${index}].weight`, errors);
      validatePodTerm(podAffinityTerm, `${at}.${preferred}[${index}].podAffinityTerm`, errors);
    });
  }
}

/** Of a pod or of a volume. Values that no label can have are taken, as upstream takes them: they select nothing. */
export function validateNodeSelector(
  { nodeSelectorTerms: terms = [] }: { nodeSelectorTerms?: NodeTerm[] },
  at: string,
  errors: FieldErrors,
): void {
  if (terms.length === 0) errors.push(required(`${at}.nodeSelectorTerms`, "must have at least one node selector term"));
  terms.forEach((term, index) => validateNodeTerm(term, `${at}.nodeSelectorTerms[${index}]`, errors, false));
}

function validateWeight(weight: number | undefined, field: string, errors: FieldErrors): void {
  if (weight === undefined || weight < 1 || weight > 100)
    errors.push(invalid(field, weight ?? 0, "must be in the range 1-100"));
}

function validateNodeTerm(term: NodeTerm, field: string, errors: FieldErrors, checksValues = true): void {
  (term.matchExpressions ?? []).forEach((requirement, index) =>
    validateRequirement(requirement, `${field}.matchExpressions[${index}]`, errors, checksValues),
  );
  (term.matchFields ?? []).forEach(({ key, operator, values }, index) => {
    const at = `${field}.matchFields[${index}]`;
    if (operator !== "In" && operator !== "NotIn")
      errors.push(invalid(`${at}.operator`, operator, "not a valid selector operator"));
    else if (values?.length !== 1)
      errors.push(
        required(`${at}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"),
      );
    if (key !== "metadata.name") errors.push(invalid(`${at}.key`, key, "not a valid field selector key"));
    else
      (values ?? []).forEach((value, place) => {
        for (const problem of dnsSubdomain(value)) errors.push(invalid(`${at}.values[${place}]`, value, problem));
      });
  });
}

function validateRequirement(
  { key, operator, values }: Requirement,
  at: string,
  errors: FieldErrors,
  checksValues: boolean,
): void {
  const count = values?.length ?? 0;
  if (operator === "In" || operator === "NotIn") {
    if (count === 0) errors.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (count > 0)
      errors.push(forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (operator === "Gt" || operator === "Lt") {
    if (count !== 1)
      errors.push(required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else errors.push(invalid(`${at}.operator`, operator, "not a valid selector operator"));
  for (const problem of qualifiedName(key ?? "")) errors.push(invalid(`${at}.key`, key, problem));
  if (!checksValues) return;
  (values ?? []).forEach((value, index) => {
    for (const problem of labelValue(value)) errors.push(invalid(`${at}.values[${index}]`, value, problem));
  });
}

function validatePodTerm(term: PodTerm | undefined, at: string, errors: FieldErrors): void {
  errors.push(...validateLabelSelector(term?.labelSelector, `${at}.labelSelector`));
  errors.push(...validateLabelSelector(term?.namespaceSelector, `${at}.namespaceSelector`));
  for (const name of term?.namespaces ?? [])
    for (const problem of dnsLabel(name)) errors.push(invalid(`${at}.namespace`, name, problem));
  validateLabelKeys(term, at, errors);
  validateTopologyKey(term?.topologyKey, at, errors);
}

type Selector = Parameters<typeof validateLabelSelector>[0];
const withoutSelector = "must not be specified when labelSelector is not set";

/** Keys of labels whose values are the pod's own; what the selector names already is not taken again. */
function validateLabelKeys(term: PodTerm | undefined, at: string, errors: FieldErrors): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term ?? {};
  for (const [name, keys] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    const field = `${at}.${name}`;
    if (keys.length > 0 && !labelSelector) errors.push(forbidden(field, withoutSelector));
    else
      keys.forEach((key, index) => {
        for (const problem of qualifiedName(key)) errors.push(invalid(`${field}[${index}]`, key, problem));
      });
  }
  const selected = selectedKeys(labelSelector);
  matchLabelKeys.forEach((key, index) => {
    if (selected.has(key)) errors.push(invalid(`${at}[${index}]`, key, inBoth("labelSelector")));
    if (mismatchLabelKeys.includes(key))
      errors.push(invalid(`${at}.matchLabelKeys[${index}]`, key, inBoth("mismatchLabelKeys")));
  });
}

const inBoth = (other: string) => `exists in both matchLabelKeys and ${other}`;

function selectedKeys(selector: Selector): Set<string> {
  return new Set([
    ...Object.keys(selector?.matchLabels ?? {}),
    ...(selector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
}

function validateSpreadKeys(keys: readonly string[], selector: Selector, field: string, errors: FieldErrors): void {
  if (keys.length > 0 && !selector) errors.push(forbidden(field, withoutSelector));
  const selected = selectedKeys(selector);
  keys.forEach((key, index) => {
    for (const problem of qualifiedName(key)) errors.push(invalid(`${field}[${index}]`, key, problem));
    if (selected.has(key)) errors.push(invalid(`${field}[${index}]`, key, inBoth("labelSelector")));
  });
}

function validateTopologyKey(key: string | undefined, at: string, errors: FieldErrors): void {
  if (!key) errors.push(required(`${at}.topologyKey`, "can not be empty"));
  else for (const problem of qualifiedName(key)) errors.push(invalid(`${at}.topologyKey`, key, problem));
}

export function validateSpread(spec: PodSpec, field: string, errors: FieldErrors): void {
  const constraints = spec.topologySpreadConstraints ?? [];
  const idOf = (one: (typeof constraints)[number]) => `{${one.topologyKey}, ${one.whenUnsatisfiable}}`;
  const lastIndex = new Map(constraints.map((one, index) => [idOf(one), index]));
  constraints.forEach((constraint, index) => {
    const at = `${field}.topologySpreadConstraints[${index}]`;
    const { maxSkew, topologyKey, minDomains } = constraint;
    const when = constraint.whenUnsatisfiable;
    if (!(maxSkew > 0)) errors.push(invalid(`${at}.maxSkew`, maxSkew, "must be greater than zero"));
    if (!topologyKey) errors.push(required(`${at}.topologyKey`, "can not be empty"));
    if (!whenUnsatisfiable.includes(when))
      errors.push(notSupported(`${at}.whenUnsatisfiable`, when, whenUnsatisfiable));
    const id = idOf(constraint);
    if (lastIndex.get(id) !== index) errors.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, id));
    if (minDomains !== undefined && minDomains !== null) {
      if (minDomains < 1) errors.push(invalid(`${at}.minDomains`, minDomains, "must be greater than zero"));
      if (when !== "DoNotSchedule")
        errors.push(
          invalid(
            `${at}.minDomains`,
            minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${when}`,
          ),
        );
    }
    for (const policy of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const) {
      const value = constraint[policy];
      if (value !== undefined && !["Honor", "Ignore"].includes(value))
        errors.push(notSupported(`${at}.${policy}`, value, ["Honor", "Ignore"]));
    }
    validateSpreadKeys(constraint.matchLabelKeys ?? [], constraint.labelSelector, `${at}.matchLabelKeys`, errors);
    errors.push(...validateLabelSelector(constraint.labelSelector, `${at}.labelSelector`));
  });
}
