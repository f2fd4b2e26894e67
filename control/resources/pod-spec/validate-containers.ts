// Validation of containers: names, images, ports, what they are given, and what each kind of container may say.

import type { Container, PodSpec, Volume } from "../../../plugins/kit/kube/objects/types.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notFoundField,
  notListed,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { dnsLabel, isPortNumber, portName } from "../names.ts";
import { type Amounts, validateRequirements } from "../resource-names.ts";
import { validateContainerClaims } from "./validate-claims.ts";
import { validateEnv } from "./validate-env.ts";
import { portRange, probeNames, validateLifecycle, validateProbes } from "./validate-handlers.ts";
import { validateDevices, validateMounts } from "./validate-mounts.ts";
import { validateContainerSecurity } from "./validate-security.ts";

type EphemeralContainer = NonNullable<PodSpec["ephemeralContainers"]>[number];

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const protocols = ["TCP", "UDP", "SCTP"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const resized = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];
const notEphemeral = "cannot be set for an Ephemeral Container";
const notInit = "may not be set for init containers without restartPolicy=Always";

/** What the checks of one container must know of its pod. */
interface PodAround {
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: readonly string[];
  readonly graceSeconds: number | undefined;
}

export function validateContainers(
  spec: PodSpec,
  field: string,
  volumes: ReadonlyMap<string, Volume>,
  errors: FieldErrors,
): void {
  const around: PodAround = {
    spec,
    volumes,
    claims: (spec.resourceClaims ?? []).map(({ name }) => name).filter((name) => name !== ""),
    graceSeconds: spec.terminationGracePeriodSeconds ?? undefined,
  };
  const names = new Set<string>();
  const claimName = (name: string, at: string) => {
    if (name && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
  };
  if ((spec.containers?.length ?? 0) === 0) errors.push(required(`${field}.containers`));
  (spec.containers ?? []).forEach((container, index) => {
    const at = `${field}.containers[${index}]`;
    validateCommon(container, at, around, errors);
    claimName(container.name, at);
    validateLifecycle(container.lifecycle, around.graceSeconds, `${at}.lifecycle`, errors);
    validateProbes(container, around.graceSeconds, at, errors);
    if (container.restartPolicy)
      errors.push(forbidden(`${at}.restartPolicy`, "may not be set for non-init containers"));
  });
  validateHostPorts(spec.containers ?? [], (index) => `${field}.containers[${index}]`, errors);
  (spec.initContainers ?? []).forEach((container, index) => {
    const at = `${field}.initContainers[${index}]`;
    validateCommon(container, at, around, errors);
    validateInit(container, at, around, () => claimName(container.name, at), errors);
  });
  const targets = new Set(names);
  (spec.ephemeralContainers ?? []).forEach((container, index) => {
    const at = `${field}.ephemeralContainers[${index}]`;
    validateCommon(container as Container, at, around, errors);
    validateImageSpace(container as Container, at, errors);
    claimName(container.name, at);
    validateEphemeral(container, targets, at, errors);
  });
}

/** Images of pods have no space around them; templates may, for those who fill them in later. */
export function validateImageSpace(container: Container, at: string, errors: FieldErrors): void {
  if ((container.image ?? "").trim() !== (container.image ?? ""))
    errors.push(invalid(`${at}.image`, container.image, "must not have leading or trailing whitespace"));
}

function validateCommon(container: Container, at: string, around: PodAround, errors: FieldErrors): void {
  if (!container.name) errors.push(required(`${at}.name`));
  else for (const problem of dnsLabel(container.name)) errors.push(invalid(`${at}.name`, container.name, problem));
  if (!container.image) errors.push(required(`${at}.image`));
  if (container.terminationMessagePolicy && !messagePolicies.includes(container.terminationMessagePolicy))
    errors.push(notListed(`${at}.terminationMessagePolicy`, container.terminationMessagePolicy, messagePolicies));
  validatePorts(container, at, errors);
  validateEnv(container, at, errors);
  validateMounts(container, at, around.volumes, errors);
  validateDevices(container, at, around.volumes, errors);
  if (container.imagePullPolicy && !pullPolicies.includes(container.imagePullPolicy))
    errors.push(notSupported(`${at}.imagePullPolicy`, container.imagePullPolicy, pullPolicies));
  const resources = container.resources ?? {};
  validateRequirements(resources as { limits?: Amounts; requests?: Amounts }, `${at}.resources`, errors);
  validateContainerClaims(resources.claims, around.claims, `${at}.resources.claims`, errors);
  validateResizePolicy(container.resizePolicy, around.spec.restartPolicy, `${at}.resizePolicy`, errors);
  const hostUsers = around.spec.hostUsers !== false;
  validateContainerSecurity(container.securityContext, hostUsers, `${at}.securityContext`, errors);
}

function validateInit(
  container: Container,
  at: string,
  { graceSeconds }: PodAround,
  claimName: () => void,
  errors: FieldErrors,
): void {
  const { restartPolicy } = container;
  if (restartPolicy && restartPolicy !== "Always")
    errors.push(notSupported(`${at}.restartPolicy`, restartPolicy, ["Always"]));
  claimName();
  // They run one by one: only their own ports can be in each other's way.
  validateHostPorts([container], () => at, errors);
  if (restartPolicy === "Always") {
    validateLifecycle(container.lifecycle, graceSeconds, `${at}.lifecycle`, errors);
    validateProbes(container, graceSeconds, at, errors);
  } else {
    for (const name of ["lifecycle", ...probeNames] as const)
      if (container[name]) errors.push(forbidden(`${at}.${name}`, notInit));
    if ((container.resizePolicy?.length ?? 0) > 0)
      errors.push(invalid(`${at}.resizePolicy`, container.resizePolicy, "must not be set for init containers"));
  }
}

function validateEphemeral(
  container: EphemeralContainer,
  targets: ReadonlySet<string>,
  at: string,
  errors: FieldErrors,
): void {
  const { targetContainerName } = container;
  if (targetContainerName && !targets.has(targetContainerName))
    errors.push(notFoundField(`${at}.targetContainerName`, targetContainerName));
  for (const name of ["ports", "resources", "lifecycle", "restartPolicy", "resizePolicy", ...probeNames] as const) {
    const value = container[name];
    const isSet = Array.isArray(value)
      ? value.length > 0
      : typeof value === "object" && value !== null
        ? name !== "resources" || Object.keys(value).length > 0
        : Boolean(value);
    if (isSet) errors.push(forbidden(`${at}.${name}`, notEphemeral));
  }
  (container.volumeMounts ?? []).forEach((mount, index) => {
    for (const name of ["subPath", "subPathExpr"] as const)
      if (mount[name]) errors.push(forbidden(`${at}.volumeMounts[${index}].${name}`, notEphemeral));
  });
}

function validatePorts(container: Container, at: string, errors: FieldErrors): void {
  const names = new Set<string>();
  (container.ports ?? []).forEach((port, index) => {
    const field = `${at}.ports[${index}]`;
    if (port.name) {
      const problems = portName(port.name);
      for (const problem of problems) errors.push(invalid(`${field}.name`, port.name, problem));
      if (problems.length === 0 && names.has(port.name)) errors.push(duplicate(`${field}.name`, port.name));
      names.add(port.name);
    }
    if (!port.containerPort) errors.push(required(`${field}.containerPort`));
    else if (!isPortNumber(port.containerPort))
      errors.push(invalid(`${field}.containerPort`, port.containerPort, portRange));
    if (port.hostPort && !isPortNumber(port.hostPort))
      errors.push(invalid(`${field}.hostPort`, port.hostPort, portRange));
    if (!port.protocol) errors.push(required(`${field}.protocol`));
    else if (!protocols.includes(port.protocol))
      errors.push(notSupported(`${field}.protocol`, port.protocol, protocols));
  });
}

function validateHostPorts(
  containers: readonly Container[],
  pathOf: (index: number) => string,
  errors: FieldErrors,
): void {
  const taken = new Set<string>();
  containers.forEach((container, index) => {
    (container.ports ?? []).forEach((port, portIndex) => {
      if (!port.hostPort) return;
      const id = `${port.protocol}/${port.hostIP ?? ""}/${port.hostPort}`;
      if (taken.has(id)) errors.push(duplicate(`${pathOf(index)}.ports[${portIndex}].hostPort`, id));
      taken.add(id);
    });
  });
}

function validateResizePolicy(
  policies: Container["resizePolicy"],
  podRestartPolicy: string | undefined,
  field: string,
  errors: FieldErrors,
): void {
  const seen = new Set<string>();
  (policies ?? []).forEach(({ resourceName, restartPolicy }, index) => {
    if (seen.has(resourceName)) errors.push(duplicate(`${field}[${index}]`, resourceName));
    seen.add(resourceName);
    if (!resourceName) errors.push(required(field));
    else if (!resized.includes(resourceName)) errors.push(notSupported(field, resourceName, resized));
    if (!restartPolicy) errors.push(required(field));
    else if (!resizePolicies.includes(restartPolicy)) errors.push(notSupported(field, restartPolicy, resizePolicies));
    if (podRestartPolicy === "Never" && restartPolicy !== "NotRequired")
      errors.push(invalid(field, restartPolicy ?? "", "must be 'NotRequired' when `restartPolicy` is 'Never'"));
  });
}
