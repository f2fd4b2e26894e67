// Webhook configurations, mutating and validating.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ClientConfig } from "../../../plugins/kit/kube/client-config.ts";
import { validateClientConfig } from "../client-config.ts";
import type { ResourceDefinition } from "../definition.ts";
import { duplicate, type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { dns1035Label } from "../names.ts";
import {
  type MatchCondition,
  type MatchRule,
  validateConditions,
  validateMatchPolicy,
  validateMatchRule,
  validateSelectors,
} from "./validate-match.ts";

interface Webhook {
  name?: string;
  failurePolicy?: string;
  matchPolicy?: string;
  namespaceSelector?: unknown;
  objectSelector?: unknown;
  timeoutSeconds?: number;
  reinvocationPolicy?: string;
  sideEffects?: string;
  admissionReviewVersions?: string[];
  clientConfig?: ClientConfig;
  rules?: MatchRule[];
  matchConditions?: MatchCondition[];
}

const webhooksOf = (object: KubeObject) => (object.webhooks ?? []) as Webhook[];

function definition(plural: string, kind: string, isMutating: boolean): ResourceDefinition {
  return {
    group: "admissionregistration.k8s.io",
    version: "v1",
    plural,
    singular: kind.toLowerCase(),
    kind,
    namespaced: false,
    categories: ["api-extensions"],
    needsResourceVersion: true,
    hasGeneration: true,
    columns: [nameColumn, column("Webhooks", "How many webhooks it has.", "integer"), ageColumn],
    cells: (object, now) => [
      object.metadata.name,
      webhooksOf(object).length,
      age(object.metadata.creationTimestamp, now),
    ],
    defaults(object) {
      for (const webhook of webhooksOf(object)) {
        webhook.failurePolicy ??= "Fail";
        webhook.matchPolicy ??= "Equivalent";
        webhook.namespaceSelector ??= {};
        webhook.objectSelector ??= {};
        webhook.timeoutSeconds ??= 10;
        if (isMutating) webhook.reinvocationPolicy ??= "Never";
        if (webhook.clientConfig?.service) webhook.clientConfig.service.port ??= 443;
        for (const rule of webhook.rules ?? []) rule.scope ??= "*";
      }
    },
    validate: (object) => validateWebhooks(webhooksOf(object)),
  };
}

function validateWebhooks(webhooks: readonly Webhook[]): FieldErrors {
  const errors: FieldErrors = [];
  const names = new Set<string>();
  webhooks.forEach((webhook, index) => {
    const at = `webhooks[${index}]`;
    if (!webhook.name) errors.push(required(`${at}.name`));
    else if (webhook.name.split(".").length < 3)
      errors.push(
        invalid(`${at}.name`, webhook.name, "should be a domain with at least three segments separated by dots"),
      );
    if (webhook.name && names.has(webhook.name)) errors.push(duplicate(`${at}.name`, webhook.name));
    names.add(webhook.name ?? "");
    if (!["None", "NoneOnDryRun"].includes(webhook.sideEffects ?? ""))
      errors.push(
        webhook.sideEffects
          ? notSupported(`${at}.sideEffects`, webhook.sideEffects, ["None", "NoneOnDryRun"])
          : required(`${at}.sideEffects`, "must specify one of None, NoneOnDryRun"),
      );
    errors.push(...validateReviewVersions(webhook.admissionReviewVersions ?? [], `${at}.admissionReviewVersions`));
    (webhook.rules ?? []).forEach((rule, place) => errors.push(...validateMatchRule(rule, `${at}.rules[${place}]`)));
    errors.push(
      ...validateMatchPolicy(webhook.matchPolicy, `${at}.matchPolicy`),
      ...validateSelectors(webhook, at),
      ...validateConditions(webhook.matchConditions, `${at}.matchConditions`),
    );
    const again = webhook.reinvocationPolicy;
    if (again !== undefined && !["IfNeeded", "Never"].includes(again))
      errors.push(notSupported(`${at}.reinvocationPolicy`, again, ["IfNeeded", "Never"]));
    if (!["Fail", "Ignore"].includes(webhook.failurePolicy ?? ""))
      errors.push(notSupported(`${at}.failurePolicy`, webhook.failurePolicy, ["Fail", "Ignore"]));
    const seconds = webhook.timeoutSeconds ?? 10;
    if (seconds < 1 || seconds > 30)
      errors.push(invalid(`${at}.timeoutSeconds`, seconds, "the timeout value must be between 1 and 30 seconds"));
    errors.push(...validateClientConfig(webhook.clientConfig ?? {}, `${at}.clientConfig`));
  });
  return errors;
}

function validateReviewVersions(versions: readonly string[], field: string): FieldErrors {
  if (versions.length === 0) return [required(field, "must specify one of v1, v1beta1")];
  const errors: FieldErrors = [];
  versions.forEach((version, index) => {
    if (versions.indexOf(version) < index) errors.push(invalid(`${field}[${index}]`, version, "duplicate version"));
    else for (const problem of dns1035Label(version)) errors.push(invalid(`${field}[${index}]`, version, problem));
  });
  if (!versions.some((version) => version === "v1" || version === "v1beta1"))
    errors.push(invalid(field, versions, "must include at least one of v1, v1beta1"));
  return errors;
}

export const mutatingWebhooks = definition("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", true);
export const validatingWebhooks = definition(
  "validatingwebhookconfigurations",
  "ValidatingWebhookConfiguration",
  false,
);
