// Validation of what a HorizontalPodAutoscaler scales by, and how fast.

import { compareQuantity, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dnsLabel } from "../names.ts";
import { validateContainerResourceName } from "../resource-names.ts";
import { fieldOf, type Metric, type MetricIdentifier, type MetricTarget } from "./metric.ts";

const targetTypes = ["Utilization", "Value", "AverageValue"];

export function validateMetrics(metrics: readonly Metric[], errors: FieldErrors): void {
  metrics.forEach((metric, index) => {
    const at = `spec.metrics[${index}]`;
    const { type = "" } = metric;
    if (type === "") errors.push(required(`${at}.type`, "must specify a metric source type"));
    const own = fieldOf[type];
    if (!own) return void errors.push(notSupported(`${at}.type`, type, Object.keys(fieldOf)));
    if (!metric[own]) errors.push(required(`${at}.${own}`, "must populate information for the given metric source"));
    for (const other of Object.values(fieldOf))
      if (other !== own && metric[other])
        errors.push(forbidden(`${at}.${other}`, "must populate the given metric source only"));
    validateSource(metric, at, errors);
  });
}

function validateSource(metric: Metric, at: string, errors: FieldErrors): void {
  const { resource, containerResource, pods, object, external } = metric;
  if (resource) validateResource(resource, `${at}.resource`, errors);
  if (containerResource) {
    if (!containerResource.container)
      errors.push(required(`${at}.containerResource.container`, "must specify a container"));
    else
      for (const problem of dnsLabel(containerResource.container))
        errors.push(invalid(`${at}.containerResource.container`, containerResource.container, problem));
    if (containerResource.name)
      errors.push(...validateContainerResourceName(containerResource.name, `${at}.containerResource.name`));
    validateResource(containerResource, `${at}.containerResource`, errors);
  }
  if (pods) {
    validateIdentifier(pods.metric, `${at}.pods.metric`, errors);
    validateTarget(pods.target, `${at}.pods.target`, errors);
    if (!isPositive(pods.target?.averageValue))
      errors.push(required(`${at}.pods.target.averageValue`, "must specify a positive target averageValue"));
  }
  if (object) {
    for (const name of ["kind", "name"] as const)
      if (!object.describedObject?.[name]) errors.push(required(`${at}.object.describedObject.${name}`));
    validateIdentifier(object.metric, `${at}.object.metric`, errors);
    validateTarget(object.target, `${at}.object.target`, errors);
    if (object.target?.value === undefined && object.target?.averageValue === undefined)
      errors.push(required(`${at}.object.target.averageValue`, "must set either a target value or averageValue"));
  }
  if (external) {
    validateIdentifier(external.metric, `${at}.external.metric`, errors);
    validateTarget(external.target, `${at}.external.target`, errors);
    const { value, averageValue } = external.target ?? {};
    if (value !== undefined && averageValue !== undefined)
      errors.push(
        forbidden(`${at}.external.target.value`, "may not set both a target value for metric and a per-pod target"),
      );
    if (value === undefined && averageValue === undefined)
      errors.push(
        required(`${at}.external.target.averageValue`, "must set either a target value for metric or a per-pod target"),
      );
  }
}

function validateResource(source: { name?: string; target?: MetricTarget }, at: string, errors: FieldErrors): void {
  if (!source.name) errors.push(required(`${at}.name`, "must specify a resource name"));
  validateTarget(source.target, `${at}.target`, errors);
  const { averageUtilization, averageValue } = source.target ?? {};
  if (averageUtilization === undefined && averageValue === undefined)
    errors.push(
      required(`${at}.target.averageUtilization`, "must set either a target raw value or a target utilization"),
    );
  if (averageUtilization !== undefined && averageValue !== undefined)
    errors.push(forbidden(`${at}.target.averageValue`, "may not set both a target raw value and a target utilization"));
}

function validateIdentifier(metric: MetricIdentifier | undefined, at: string, errors: FieldErrors): void {
  if (!metric?.name) errors.push(required(`${at}.name`, "must specify a metric name"));
}

function validateTarget(target: MetricTarget | undefined, at: string, errors: FieldErrors): void {
  const type = target?.type ?? "";
  if (type === "") errors.push(required(`${at}.type`, "must specify a metric target type"));
  else if (!targetTypes.includes(type))
    errors.push(invalid(`${at}.type`, type, "must be either Utilization, Value, or AverageValue"));
  for (const name of ["value", "averageValue"] as const)
    if (target?.[name] !== undefined && !isPositive(target[name]))
      errors.push(invalid(`${at}.${name}`, target[name], "must be positive"));
  if (target?.averageUtilization !== undefined && target.averageUtilization < 1)
    errors.push(invalid(`${at}.averageUtilization`, target.averageUtilization, "must be greater than 0"));
}

/** Quantities were held to their format before. */
function isPositive(quantity: string | number | undefined): boolean {
  return quantity !== undefined && compareQuantity(parseQuantity(quantity), parseQuantity(0)) > 0;
}

export interface ScalingRules {
  stabilizationWindowSeconds?: number;
  selectPolicy?: string;
  policies?: { type?: string; value?: number; periodSeconds?: number }[];
}

const longestWindowSeconds = 3600;
const longestPeriodSeconds = 1800;

export function validateBehavior(
  behavior: { scaleUp?: ScalingRules; scaleDown?: ScalingRules },
  errors: FieldErrors,
): void {
  for (const direction of ["scaleUp", "scaleDown"] as const) {
    const rules = behavior[direction];
    if (!rules) continue;
    const at = `spec.behavior.${direction}`;
    const { stabilizationWindowSeconds: window, selectPolicy, policies } = rules;
    if (window !== undefined && window < 0)
      errors.push(invalid(`${at}.stabilizationWindowSeconds`, window, "must be greater than or equal to zero"));
    if (window !== undefined && window > longestWindowSeconds)
      errors.push(
        invalid(`${at}.stabilizationWindowSeconds`, window, `must be less than or equal to ${longestWindowSeconds}`),
      );
    if (selectPolicy !== undefined && !["Disabled", "Max", "Min"].includes(selectPolicy))
      errors.push(notSupported(`${at}.selectPolicy`, selectPolicy, ["Disabled", "Max", "Min"]));
    if (policies?.length === 0) errors.push(required(`${at}.policies`, "must specify at least one Policy"));
    (policies ?? []).forEach((policy, index) => validatePolicy(policy, `${at}.policies[${index}]`, errors));
  }
}

function validatePolicy(
  { type = "", value = 0, periodSeconds = 0 }: NonNullable<ScalingRules["policies"]>[number],
  at: string,
  errors: FieldErrors,
): void {
  if (!["Pods", "Percent"].includes(type)) errors.push(notSupported(`${at}.type`, type, ["Pods", "Percent"]));
  if (value <= 0) errors.push(invalid(`${at}.value`, value, "must be greater than zero"));
  if (periodSeconds <= 0) errors.push(invalid(`${at}.periodSeconds`, periodSeconds, "must be greater than zero"));
  if (periodSeconds > longestPeriodSeconds)
    errors.push(invalid(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${longestPeriodSeconds}`));
}
