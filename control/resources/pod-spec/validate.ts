// Validation of a pod's specification, for pods and for templates.

import { isIP } from "node:net";
import type { PodSpec } from "../../../plugins/kit/objects/types.ts";
import { duplicate, type FieldErrors, forbidden, invalid, notSupported, required } from "../field-error.ts";
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from "../names.ts";
import { validateLabels } from "../object-meta.ts";
import { validateAffinity, validateSpread } from "./validate-affinity.ts";
import { validateContainers } from "./validate-containers.ts";
import { validatePodSecurity } from "./validate-security.ts";
import { validateVolumes } from "./validate-volumes.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const tolerationEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validatePodSpec(spec: PodSpec | undefined, field: string): FieldErrors {
  if (!spec) return [required(`${field}.containers`)];
  const errors: FieldErrors = [];
  const volumes = validateVolumes(spec.volumes ?? [], `${field}.volumes`, errors);
  validateContainers(spec, field, volumes, errors);
  oneOf(spec.restartPolicy, restartPolicies, `${field}.restartPolicy`, errors);
  oneOf(spec.dnsPolicy, dnsPolicies, `${field}.dnsPolicy`, errors);
  errors.push(...validateLabels(spec.nodeSelector, `${field}.nodeSelector`));
  validateSeconds(spec, field, errors);
  validateNames(spec, field, errors);
  validateTolerations(spec, field, errors);
  validateSpread(spec, field, errors);
  validateHostAliases(spec, field, errors);
  validateDns(spec, field, errors);
  validateAffinity(spec.affinity, `${field}.affinity`, errors);
  validatePodSecurity(spec.securityContext, `${field}.securityContext`, errors);
  if (spec.os && !["linux", "windows"].includes(spec.os.name))
    errors.push(notSupported(`${field}.os.name`, spec.os.name, ["linux", "windows"]));
  if (spec.preemptionPolicy && !["Never", "PreemptLowerPriority"].includes(spec.preemptionPolicy))
    errors.push(notSupported(`${field}.preemptionPolicy`, spec.preemptionPolicy, ["Never", "PreemptLowerPriority"]));
  if (spec.hostUsers === false && (spec.hostNetwork || spec.hostPID || spec.hostIPC))
    errors.push(forbidden(`${field}.hostUsers`, "when `pod.Spec.HostUsers` is false, host namespaces may not be used"));
  return errors;
}

function oneOf(value: string | undefined, allowed: readonly string[], field: string, errors: FieldErrors): void {
  if (!value) errors.push(required(field));
  else if (!allowed.includes(value)) errors.push(notSupported(field, value, allowed));
}

function validateSeconds(spec: PodSpec, field: string, errors: FieldErrors): void {
  const { activeDeadlineSeconds, terminationGracePeriodSeconds } = spec;
  if (activeDeadlineSeconds !== undefined && activeDeadlineSeconds !== null)
    if (activeDeadlineSeconds < 1 || activeDeadlineSeconds > 2 ** 31 - 1)
      errors.push(
        invalid(`${field}.activeDeadlineSeconds`, activeDeadlineSeconds, "must be between 1 and 2147483647, inclusive"),
      );
  if (terminationGracePeriodSeconds === undefined || terminationGracePeriodSeconds === null)
    errors.push(required(`${field}.terminationGracePeriodSeconds`));
  else if (terminationGracePeriodSeconds < 0)
    errors.push(
      invalid(
        `${field}.terminationGracePeriodSeconds`,
        terminationGracePeriodSeconds,
        "must be greater than or equal to 0",
      ),
    );
}

function validateNames(spec: PodSpec, field: string, errors: FieldErrors): void {
  const check = (value: string | undefined, format: (name: string) => string[], name: string) => {
    if (value) for (const problem of format(value)) errors.push(invalid(`${field}.${name}`, value, problem));
  };
  check(spec.hostname, dnsLabel, "hostname");
  check(spec.subdomain, dnsLabel, "subdomain");
  check(spec.serviceAccountName, dnsSubdomain, "serviceAccountName");
  check(spec.nodeName, dnsSubdomain, "nodeName");
  check(spec.priorityClassName, dnsSubdomain, "priorityClassName");
  check(spec.runtimeClassName, dnsSubdomain, "runtimeClassName");
  (spec.imagePullSecrets ?? []).forEach((secret, index) => {
    if (!secret.name) errors.push(required(`${field}.imagePullSecrets[${index}].name`));
  });
  const gates = new Set<string>();
  (spec.schedulingGates ?? []).forEach((gate, index) => {
    const at = `${field}.schedulingGates[${index}]`;
    for (const problem of qualifiedName(gate.name ?? "")) errors.push(invalid(at, gate.name, problem));
    if (gates.has(gate.name)) errors.push(duplicate(at, gate.name));
    gates.add(gate.name);
  });
  (spec.readinessGates ?? []).forEach((gate, index) => {
    for (const problem of qualifiedName(gate.conditionType ?? ""))
      errors.push(invalid(`${field}.readinessGates[${index}].conditionType`, gate.conditionType, problem));
  });
}

function validateTolerations(spec: PodSpec, field: string, errors: FieldErrors): void {
  (spec.tolerations ?? []).forEach((toleration, index) => {
    const at = `${field}.tolerations[${index}]`;
    const { key, operator, value, effect, tolerationSeconds } = toleration;
    if (key) for (const problem of qualifiedName(key)) errors.push(invalid(`${at}.key`, key, problem));
    if (!key && operator !== "Exists")
      errors.push(
        invalid(
          `${at}.operator`,
          operator ?? "",
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      );
    if (tolerationSeconds !== undefined && tolerationSeconds !== null && effect !== "NoExecute")
      errors.push(invalid(`${at}.effect`, effect ?? "", "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    if (operator === "Exists") {
      if (value) errors.push(invalid(`${at}.operator`, toleration, "value must be empty when `operator` is 'Exists'"));
    } else if (!operator || operator === "Equal") {
      for (const problem of labelValue(value ?? "")) errors.push(invalid(`${at}.operator`, value, problem));
    } else errors.push(notSupported(`${at}.operator`, operator, ["Equal", "Exists"]));
    if (effect && !tolerationEffects.includes(effect))
      errors.push(notSupported(`${at}.effect`, effect, tolerationEffects));
  });
}

function validateDns(spec: PodSpec, field: string, errors: FieldErrors): void {
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {};
  if (spec.dnsPolicy === "None" && nameservers.length === 0)
    errors.push(
      required(`${field}.dnsConfig.nameservers`, "must provide at least one DNS nameserver when `dnsPolicy` is None"),
    );
  nameservers.forEach((address, index) => {
    if (isIP(address) === 0)
      errors.push(
        invalid(
          `${field}.dnsConfig.nameservers[${index}]`,
          address,
          "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
      );
  });
  searches.forEach((domain, index) => {
    for (const problem of dnsSubdomain(domain.replace(/\.$/, "")))
      errors.push(invalid(`${field}.dnsConfig.searches[${index}]`, domain, problem));
  });
  options.forEach((option, index) => {
    if (!option.name) errors.push(required(`${field}.dnsConfig.options[${index}]`, "must not be empty"));
  });
}

function validateHostAliases(spec: PodSpec, field: string, errors: FieldErrors): void {
  (spec.hostAliases ?? []).forEach((alias, index) => {
    const at = `${field}.hostAliases[${index}]`;
    if (!/^[0-9a-fA-F.:]+$/.test(alias.ip ?? ""))
      errors.push(invalid(`${at}.ip`, alias.ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    for (const name of alias.hostnames ?? [])
      for (const problem of dnsSubdomain(name)) errors.push(invalid(`${at}.hostnames`, name, problem));
  });
}
