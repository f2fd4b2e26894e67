// Validation of how a definition's versions are made of each other: by name only, or by a webhook.

import { validateClientConfig } from "../client-config.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dns1035Label } from "../names.ts";
import { type Crd, hasCondition } from "./types.ts";

const strategies = ["None", "Webhook"];
const reviewVersions = ["v1", "v1beta1"];

/** Fields are called as upstream calls them inside, where client configuration and review versions stand side by side. */
export function validateConversion(crd: Crd, previous: Crd | undefined): FieldErrors {
  const at = "spec.conversion";
  const { strategy, webhook } = crd.spec.conversion ?? { strategy: "None" };
  if (!strategy) return [required(`${at}.strategy`)];
  const errors: FieldErrors = strategies.includes(strategy)
    ? []
    : [notSupported(`${at}.strategy`, strategy, strategies)];
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook ?? {};
  if (strategy !== "Webhook") {
    const why = "should not be set when strategy is not set to Webhook";
    if (clientConfig) errors.push(forbidden(`${at}.webhookClientConfig`, why));
    if (versions.length > 0) errors.push(forbidden(`${at}.conversionReviewVersions`, why));
    return errors;
  }
  if (!clientConfig) errors.push(required(`${at}.webhookClientConfig`, "required when strategy is set to Webhook"));
  else {
    const { caBundle, ...place } = clientConfig;
    const isChecked = previous !== undefined && hasCondition(previous, "Established");
    const config = isChecked && caBundle ? { ...place, caBundle } : place;
    errors.push(...validateClientConfig(config, `${at}.webhookClientConfig`));
  }
  return [...errors, ...validateReviewVersions(versions, `${at}.conversionReviewVersions`)];
}

function validateReviewVersions(versions: readonly string[], at: string): FieldErrors {
  if (versions.length === 0) return [required(at)];
  const errors: FieldErrors = [];
  versions.forEach((version, index) => {
    if (versions.indexOf(version) < index) errors.push(invalid(`${at}[${index}]`, version, "duplicate version"));
    else for (const problem of dns1035Label(version)) errors.push(invalid(`${at}[${index}]`, version, problem));
  });
  if (!versions.some((version) => reviewVersions.includes(version)))
    errors.push(invalid(at, versions, `must include at least one of ${reviewVersions.join(", ")}`));
  return errors;
}
