// Validation of a pod's specification, for pods and for templates.

import type { Pod, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { validateIp } from "../addresses.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notListed,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from "../names.ts";
import { validateLabels } from "../object-meta.ts";
import { type Amounts, validateRequirements } from "../resource-names.ts";
import { validateAffinity, validateSpread } from "./validate-affinity.ts";
import { validatePodClaims } from "./validate-claims.ts";
import { validateContainers, validateImageSpace } from "./validate-containers.ts";
import { validatePodSecurity } from "./validate-security.ts";
import { validateVolumes } from "./validate-volumes.ts";
import { validateHostProcess, validateOs } from "./validate-windows.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const tolerationEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Of templates and of pods, in upstream's order. What holds for pods alone is in `validatePodOnly`. */
export function validatePodSpec(spec: PodSpec | undefined, field: string): FieldErrors {
  if (!spec) return [required(`${field}.containers`)];
  const errors: FieldErrors = [];
  if (spec.terminationGracePeriodSeconds === undefined || spec.terminationGracePeriodSeconds === null)
    errors.push(required(`${field}.terminationGracePeriodSeconds`));
  const volumes = validateVolumes(spec.volumes ?? [], `${field}.volumes`, errors);
  validatePodClaims(spec.resourceClaims, `${field}.resourceClaims`, errors);
  validateContainers(spec, field, volumes, errors);
  oneOf(spec.restartPolicy, restartPolicies, `${field}.restartPolicy`, errors);
  oneOf(spec.dnsPolicy, dnsPolicies, `${field}.dnsPolicy`, errors);
  errors.push(...validateLabels(spec.nodeSelector, `${field}.nodeSelector`));
  validatePodSecurity(spec.securityContext, `${field}.securityContext`, errors);
  validateHostNamespaces(spec, field, errors);
  validateAffinity(spec.affinity, `${field}.affinity`, errors);
  validateDns(spec, field, errors);
  validateGates(spec, field, errors);
  validateSpread(spec, field, errors);
  validateNames(spec, field, errors);
  validateTolerations(spec, field, errors);
  validateHostAliases(spec, field, errors);
  validateHostProcess(spec, field, errors);
  if (spec.preemptionPolicy && !["Never", "PreemptLowerPriority"].includes(spec.preemptionPolicy))
    errors.push(notListed(`${field}.preemptionPolicy`, spec.preemptionPolicy, ["PreemptLowerPriority", "Never"]));
  if (spec.overhead) validateRequirements({ limits: spec.overhead as Amounts }, `${field}.overhead`, errors);
  validateOs(spec, field, errors);
  return errors;
}

/** What pods must keep to and their templates need not. */
export function validatePodOnly(pod: Pod): FieldErrors {
  const errors: FieldErrors = [];
  const { spec } = pod;
  if (!spec) return errors;
  (spec.volumes ?? []).forEach((volume, index) => {
    const name = `${pod.metadata.name}-${volume.name}`;
    if (volume.ephemeral && pod.metadata.name && volume.name)
      for (const problem of dnsSubdomain(name))
        errors.push(invalid(`spec.volumes[${index}].name`, volume.name, `PVC name "${name}": ${problem}`));
    if (spec.serviceAccountName) return;
    (volume.projected?.sources ?? []).forEach((source, sourceIndex) => {
      if (source.serviceAccountToken)
        errors.push(
          forbidden(
            `spec.volumes[${index}].projected.sources[${sourceIndex}].serviceAccountToken`,
            "must not be specified when serviceAccountName is not set",
          ),
        );
    });
  });
  for (const kind of ["containers", "initContainers"] as const)
    (spec[kind] ?? []).forEach((container, index) => validateImageSpace(container, `spec.${kind}[${index}]`, errors));
  return errors;
}

function oneOf(value: string | undefined, allowed: readonly string[], field: string, errors: FieldErrors): void {
  if (!value) errors.push(required(field));
  else if (!allowed.includes(value)) errors.push(notListed(field, value, allowed));
}

function validateHostNamespaces(spec: PodSpec, field: string, errors: FieldErrors): void {
  if (spec.shareProcessNamespace && spec.hostPID)
    errors.push(
      invalid(
        `${field}.securityContext.shareProcessNamespace`,
        true,
        "ShareProcessNamespace and HostPID cannot both be enabled",
      ),
    );
  if (spec.hostNetwork)
    (spec.containers ?? []).forEach((container, index) => {
      (container.ports ?? []).forEach((port, portIndex) => {
        if (port.hostPort && port.hostPort !== port.containerPort)
          errors.push(
            invalid(
              `${field}.containers[${index}].ports[${portIndex}].hostPort`,
              port.hostPort,
              "must match `containerPort` when `hostNetwork` is true",
            ),
          );
      });
    });
  if (spec.hostUsers !== false) return;
  // The capitals are upstream's.
  for (const [name, shown] of [
    ["hostNetwork", "hostNetwork"],
    ["hostPID", "HostPID"],
    ["hostIPC", "HostIPC"],
  ] as const)
    if (spec[name]) errors.push(forbidden(`${field}.${shown}`, "when `pod.Spec.HostUsers` is false"));
}

function validateNames(spec: PodSpec, field: string, errors: FieldErrors): void {
  const check = (value: string | undefined, format: (name: string) => string[], name: string) => {
    if (value) for (const problem of format(value)) errors.push(invalid(`${field}.${name}`, value, problem));
  };
  check(spec.serviceAccountName, dnsSubdomain, "serviceAccountName");
  check(spec.nodeName, dnsSubdomain, "nodeName");
  const seconds = spec.activeDeadlineSeconds;
  if (seconds !== undefined && seconds !== null && (seconds < 1 || seconds > 2 ** 31 - 1))
    errors.push(invalid(`${field}.activeDeadlineSeconds`, seconds, "must be between 1 and 2147483647, inclusive"));
  check(spec.hostname, dnsLabel, "hostname");
  check(spec.subdomain, dnsLabel, "subdomain");
  check(spec.priorityClassName, dnsSubdomain, "priorityClassName");
  check(spec.runtimeClassName, dnsSubdomain, "runtimeClassName");
}

function validateGates(spec: PodSpec, field: string, errors: FieldErrors): void {
  (spec.readinessGates ?? []).forEach((gate, index) => {
    for (const problem of qualifiedName(gate.conditionType ?? ""))
      errors.push(invalid(`${field}.readinessGates[${index}].conditionType`, gate.conditionType, problem));
  });
  const gates = new Set<string>();
  (spec.schedulingGates ?? []).forEach((gate, index) => {
    const at = `${field}.schedulingGates[${index}]`;
    for (const problem of qualifiedName(gate.name ?? "")) errors.push(invalid(at, gate.name, problem));
    if (gates.has(gate.name)) errors.push(duplicate(at, gate.name));
    gates.add(gate.name);
  });
}

export function validateTolerations(spec: Pick<PodSpec, "tolerations">, field: string, errors: FieldErrors): void {
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
      if (value) errors.push(invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
    } else if (!operator || operator === "Equal") {
      const problems = labelValue(value ?? "");
      if (problems.length > 0) errors.push(invalid(`${at}.operator`, value, problems.join(";")));
    } else errors.push(notSupported(`${at}.operator`, operator, ["Equal", "Exists"]));
    if (effect && !tolerationEffects.includes(effect))
      errors.push(notListed(`${at}.effect`, effect, tolerationEffects));
  });
}

const searchBytes = 2048;

function validateDns(spec: PodSpec, field: string, errors: FieldErrors): void {
  const at = `${field}.dnsConfig`;
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {};
  if (spec.dnsPolicy === "None" && !spec.dnsConfig) {
    errors.push(required(at, "must provide `dnsConfig` when `dnsPolicy` is None"));
    return;
  }
  if (spec.dnsPolicy === "None" && nameservers.length === 0) {
    errors.push(required(`${at}.nameservers`, "must provide at least one DNS nameserver when `dnsPolicy` is None"));
    return;
  }
  if (nameservers.length > 3)
    errors.push(invalid(`${at}.nameservers`, nameservers, "must not have more than 3 nameservers"));
  nameservers.forEach((address, index) => errors.push(...validateIp(address, `${at}.nameservers[${index}]`)));
  if (searches.length > 32) errors.push(invalid(`${at}.searches`, searches, "must not have more than 32 search paths"));
  if (searches.join(" ").length > searchBytes)
    errors.push(
      invalid(
        `${at}.searches`,
        searches,
        `must not have more than ${searchBytes} characters (including spaces) in the search list`,
      ),
    );
  searches.forEach((domain, index) => {
    const name = domain.replace(/\.$/, "");
    for (const problem of dnsSubdomain(name)) errors.push(invalid(`${at}.searches[${index}]`, name, problem));
  });
  options.forEach((option, index) => {
    if (!option.name) errors.push(required(`${at}.options[${index}]`, "must not be empty"));
  });
}

function validateHostAliases(spec: PodSpec, field: string, errors: FieldErrors): void {
  (spec.hostAliases ?? []).forEach((alias, index) => {
    const at = `${field}.hostAliases[${index}]`;
    errors.push(...validateIp(alias.ip, `${at}.ip`));
    (alias.hostnames ?? []).forEach((name, nameIndex) => {
      for (const problem of dnsSubdomain(name)) errors.push(invalid(`${at}.hostnames[${nameIndex}]`, name, problem));
    });
  });
}
