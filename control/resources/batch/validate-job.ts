// Validation of Jobs: counts that fit each other, rules for failing and succeeding pods, and what stays as it was.

import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { deepEqual } from "../../machinery/equal.ts";
import {
  duplicate,
  type FieldErrors,
  invalid,
  notListed,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "../../machinery/field-error.ts";
import { validateLabelSelector } from "../label-selector.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "../names.ts";
import { validateTemplate } from "../pod-template.ts";
import type { FailureRule, JobSpec, SuccessRule } from "./job.ts";

const atLeastZero = "must be greater than or equal to 0";
const immutable = "field is immutable";
const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const conditionStatuses = ["False", "True", "Unknown"];
const mostRules = 20;
const mostIndexes = 100_000;
const mostOfMany = 10_000;

const oneOfQuoted = (values: readonly string[]) => `valid values: [${values.map((one) => `"${one}"`).join(" ")}]`;
const withoutValue = (field: string, detail: string) => ({
  type: "FieldValueInvalid" as const,
  field,
  message: `Invalid value: ${detail}`,
});

export function validateJobSpec(spec: JobSpec, field: string): FieldErrors {
  const errors: FieldErrors = [];
  for (const name of [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
  ] as const) {
    const value = spec[name];
    if (typeof value === "number" && value < 0) errors.push(invalid(`${field}.${name}`, value, atLeastZero));
  }
  validateIndexes(spec, field, errors);
  validateManagedBy(spec.managedBy, `${field}.managedBy`, errors);
  if (spec.podFailurePolicy) validateFailurePolicy(spec, `${field}.podFailurePolicy.rules`, errors);
  if (spec.successPolicy) {
    if (spec.completionMode !== "Indexed")
      errors.push(invalid(`${field}.successPolicy`, spec.successPolicy, "requires indexed completion mode"));
    else validateSuccessPolicy(spec, `${field}.successPolicy.rules`, errors);
  }
  const replaces = spec.podFailurePolicy ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
  if (spec.podReplacementPolicy !== undefined && !replaces.includes(spec.podReplacementPolicy))
    errors.push(notSupported(`${field}.podReplacementPolicy`, spec.podReplacementPolicy, replaces));
  if (!spec.template) return [...errors, required(`${field}.template`)];
  errors.push(...validateTemplate(spec.template, `${field}.template`));
  const policy = spec.template.spec?.restartPolicy;
  const at = `${field}.template.spec.restartPolicy`;
  if (policy === undefined || policy === "Always") errors.push(required(at, 'valid values: "OnFailure", "Never"'));
  else if (policy !== "OnFailure" && policy !== "Never") errors.push(notListed(at, policy, ["OnFailure", "Never"]));
  else if (spec.podFailurePolicy && policy !== "Never")
    errors.push(invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified'));
  return errors;
}

function validateIndexes(spec: JobSpec, field: string, errors: FieldErrors): void {
  const { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex, completionMode = "NonIndexed" } = spec;
  const add = (name: keyof JobSpec, detail: string) => errors.push(invalid(`${field}.${name}`, spec[name], detail));
  if (typeof maxFailedIndexes === "number" && typeof backoffLimitPerIndex !== "number")
    errors.push(required(`${field}.backoffLimitPerIndex`, "when maxFailedIndexes is specified"));
  if (completionMode !== "Indexed") {
    if (completionMode !== "NonIndexed")
      errors.push(notListed(`${field}.completionMode`, completionMode, ["NonIndexed", "Indexed"]));
    for (const name of ["backoffLimitPerIndex", "maxFailedIndexes"] as const)
      if (typeof spec[name] === "number") add(name, "requires indexed completion mode");
    return;
  }
  if (typeof completions !== "number") errors.push(required(`${field}.completions`, "when completion mode is Indexed"));
  if (parallelism > mostIndexes)
    add("parallelism", `must be less than or equal to ${mostIndexes} when completion mode is Indexed`);
  const failed = maxFailedIndexes ?? 0;
  if (typeof completions === "number" && failed > completions)
    add("maxFailedIndexes", "must be less than or equal to completions");
  if (failed > mostIndexes) add("maxFailedIndexes", `must be less than or equal to ${mostIndexes}`);
  if ((completions ?? 0) <= mostIndexes || typeof backoffLimitPerIndex !== "number") return;
  const many = `must be less than or equal to ${mostOfMany} when completions are above ${mostIndexes} and used with backoff limit per index`;
  if (typeof maxFailedIndexes !== "number")
    errors.push(required(`${field}.maxFailedIndexes`, `must be specified when completions is above ${mostIndexes}`));
  if (parallelism > mostOfMany) add("parallelism", many);
  if (failed > mostOfMany) add("maxFailedIndexes", many);
}

function validateManagedBy(by: string | null | undefined, field: string, errors: FieldErrors): void {
  if (by === undefined || by === null) return;
  const slash = by.indexOf("/");
  if (by === "") errors.push(required(field));
  else if (slash <= 0 || slash === by.length - 1)
    errors.push(invalid(field, by, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  else for (const problem of dnsSubdomain(by.slice(0, slash))) errors.push(invalid(field, by.slice(0, slash), problem));
  if (by.length > 63) errors.push(tooLong(field, 63));
}

function validateFailurePolicy(spec: JobSpec, field: string, errors: FieldErrors): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > mostRules) errors.push(tooMany(field, rules.length, mostRules));
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = [...containers, ...initContainers].map(({ name }) => name);
  rules.forEach((rule, index) => {
    const at = `${field}[${index}]`;
    const { action, onExitCodes, onPodConditions = [] } = rule;
    if (!action) errors.push(required(`${at}.action`, oneOfQuoted(actions)));
    else if (!actions.includes(action)) errors.push(notSupported(`${at}.action`, action, actions));
    else if (action === "FailIndex" && typeof spec.backoffLimitPerIndex !== "number")
      errors.push(invalid(`${at}.action`, action, "requires the backoffLimitPerIndex to be set"));
    if (onExitCodes) validateExitCodes(onExitCodes, names, `${at}.onExitCodes`, errors);
    validatePatterns(onPodConditions, `${at}.onPodConditions`, errors);
    if (onExitCodes && onPodConditions.length > 0)
      errors.push(withoutValue(at, "specifying both OnExitCodes and OnPodConditions is not supported"));
    if (!onExitCodes && onPodConditions.length === 0)
      errors.push(withoutValue(at, "specifying one of OnExitCodes and OnPodConditions is required"));
  });
}

function validatePatterns(
  patterns: NonNullable<FailureRule["onPodConditions"]>,
  field: string,
  errors: FieldErrors,
): void {
  if (patterns.length > mostRules) errors.push(tooMany(field, patterns.length, mostRules));
  patterns.forEach(({ type = "", status }, index) => {
    const at = `${field}[${index}]`;
    for (const problem of qualifiedName(type)) errors.push(invalid(`${at}.type`, type, problem));
    if (!status) errors.push(required(`${at}.status`, oneOfQuoted(conditionStatuses)));
    else if (!conditionStatuses.includes(status)) errors.push(notSupported(`${at}.status`, status, conditionStatuses));
  });
}

function validateExitCodes(
  { operator, containerName, values = [] }: NonNullable<FailureRule["onExitCodes"]>,
  names: readonly string[],
  at: string,
  errors: FieldErrors,
): void {
  if (!operator) errors.push(required(`${at}.operator`, oneOfQuoted(["In", "NotIn"])));
  else if (operator !== "In" && operator !== "NotIn")
    errors.push(notSupported(`${at}.operator`, operator, ["In", "NotIn"]));
  if (containerName != null && !names.includes(containerName))
    errors.push(
      invalid(
        `${at}.containerName`,
        containerName,
        "must be one of the container or initContainer names in the pod template",
      ),
    );
  if (values.length === 0) errors.push(invalid(`${at}.values`, values, "at least one value is required"));
  if (values.length > 255) errors.push(tooMany(`${at}.values`, values.length, 255));
  const seen = new Set<number>();
  values.forEach((value, index) => {
    if (operator === "In" && value === 0)
      errors.push(invalid(`${at}.values[${index}]`, value, "must not be 0 for the In operator"));
    if (seen.has(value)) errors.push(duplicate(`${at}.values[${index}]`, value));
    seen.add(value);
  });
  if (values.some((value, index) => index > 0 && (values[index - 1] ?? 0) > value))
    errors.push(invalid(`${at}.values`, values, "must be ordered"));
}

function validateSuccessPolicy(spec: JobSpec, field: string, errors: FieldErrors): void {
  const rules = spec.successPolicy?.rules ?? [];
  if (rules.length === 0)
    errors.push(required(field, "at least one rules must be specified when the successPolicy is specified"));
  if (rules.length > mostRules) errors.push(tooMany(field, rules.length, mostRules));
  rules.forEach((rule, index) => validateSuccessRule(rule, spec.completions ?? 0, `${field}[${index}]`, errors));
}

function validateSuccessRule(rule: SuccessRule, completions: number, at: string, errors: FieldErrors): void {
  const { succeededCount, succeededIndexes } = rule;
  if (succeededCount == null && succeededIndexes == null)
    errors.push(required(at, "at least one of succeededCount or succeededIndexes must be specified"));
  let total = 0;
  if (succeededIndexes != null) {
    if (succeededIndexes.length > 64 * 1024) errors.push(tooLong(`${at}.succeededIndexes`, 64 * 1024));
    const counted = countIndexes(succeededIndexes, completions);
    if (typeof counted === "number") total = counted;
    else
      errors.push(
        invalid(`${at}.succeededIndexes`, succeededIndexes, `error parsing succeededIndexes: ${counted.problem}`),
      );
  }
  if (succeededCount == null) return;
  const field = `${at}.succeededCount`;
  if (succeededCount < 0) errors.push(invalid(field, succeededCount, atLeastZero));
  const no = (most: number, what: string) =>
    errors.push(invalid(field, succeededCount, `must be less than or equal to ${most} (the number of ${what})`));
  if (succeededCount > completions) no(completions, "specified completions");
  if (succeededIndexes != null && succeededCount > total) no(total, "indexes in the specified succeededIndexes field");
}

/** How many indexes `1,3-5` names; they rise and lie below the completions. */
function countIndexes(text: string, completions: number): number | { problem: string } {
  if (text === "") return 0;
  let total = 0;
  let last = -1;
  for (const part of text.split(",")) {
    const limits = part.split("-");
    if (limits.length > 2)
      return {
        problem: `the fragment "${part}" violates the requirement that an index interval can have at most two parts separated by '-'`,
      };
    for (const limit of limits)
      if (!/^[0-9]{1,10}$/.test(limit))
        return {
          problem: `cannot convert string to integer for index: ${JSON.stringify(limit)}`,
        };
    const [from = 0, to = from] = limits.map(Number);
    for (const index of [from, to])
      if (index >= completions) return { problem: `too large index: ${JSON.stringify(String(index))}` };
    if (from <= last || (limits.length === 2 && to <= from))
      return {
        problem: `non-increasing order, previous: ${limits.length === 2 && to <= from ? from : last}, current: ${from <= last ? from : to}`,
      };
    total += to - from + 1;
    last = to;
  }
  return total;
}

/** Of a Job of its own, whose selector and labels are known by now. */
export function validateJob(object: KubeObject): FieldErrors {
  const spec = (object.spec ?? {}) as JobSpec;
  const errors = validateJobSpec(spec, "spec");
  const { name = "", uid = "" } = object.metadata;
  const labels = spec.template?.metadata?.labels ?? {};
  if (!spec.selector) errors.push(required("spec.selector"));
  else {
    const problems = validateLabelSelector(spec.selector, "spec.selector");
    errors.push(...problems);
    if (problems.length === 0) {
      const selector = labelSelectorOf(spec.selector);
      const own = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
      };
      if (!spec.manualSelector && !selector.matches(own))
        errors.push(invalid("spec.selector", spec.selector, "`selector` not auto-generated"));
      if (!selector.matches(labels))
        errors.push(invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"));
    }
  }
  const last = `${name}-${(spec.completions ?? 0) - 1}`;
  if (spec.completionMode === "Indexed" && (spec.completions ?? 0) > 0 && dnsLabel(last).length > 0)
    errors.push(invalid("metadata.name", name, `will not able to create pod with invalid DNS label: ${last}`));
  return errors;
}

/** What stays as it was; a Job that has not begun may still be sent elsewhere. */
export function validateJobUpdate(object: KubeObject, previous: KubeObject): FieldErrors {
  const [spec, before] = [(object.spec ?? {}) as JobSpec, (previous.spec ?? {}) as JobSpec];
  const errors: FieldErrors = [];
  const keep = (name: keyof JobSpec, next: unknown, was: unknown) => {
    if (!deepEqual(next ?? undefined, was ?? undefined)) errors.push(invalid(`spec.${name}`, next ?? null, immutable));
  };
  if (spec.completionMode !== "Indexed") keep("completions", spec.completions, before.completions);
  else if (!deepEqual(spec.completions, before.completions) && spec.completions !== spec.parallelism)
    errors.push(invalid("spec.completions", spec.completions, "can only be modified in tandem with spec.parallelism"));
  keep("selector", spec.selector, before.selector);
  const isWaiting = before.suspend === true && !(previous.status as { startTime?: string } | undefined)?.startTime;
  keep("template", spec.template, isWaiting ? sentElsewhere(before, spec) : before.template);
  for (const name of [
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
  ] as const)
    keep(name, spec[name], before[name]);
  return errors;
}

/** The old template with the new one's place in the cluster, labels and annotations. */
function sentElsewhere(before: JobSpec, next: JobSpec): JobSpec["template"] {
  const template = structuredClone(before.template ?? {});
  const wanted = next.template ?? {};
  const put = (target: object, source: object | undefined, field: string) => {
    const value = (source as Record<string, unknown> | undefined)?.[field];
    if (value === undefined) delete (target as Record<string, unknown>)[field];
    else (target as Record<string, unknown>)[field] = value;
  };
  template.metadata ??= {};
  for (const field of ["labels", "annotations"]) put(template.metadata, wanted.metadata, field);
  if (!template.spec) return template;
  for (const field of ["nodeSelector", "tolerations", "schedulingGates"]) put(template.spec, wanted.spec, field);
  const affinity = { ...template.spec.affinity };
  put(affinity, wanted.spec?.affinity, "nodeAffinity");
  if (Object.keys(affinity).length > 0 || wanted.spec?.affinity) template.spec.affinity = affinity;
  else delete template.spec.affinity;
  return template;
}
