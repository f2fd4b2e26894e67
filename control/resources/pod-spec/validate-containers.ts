// Validation of containers: names, images, ports, variables, mounts, probes and resources.

import { isFault } from "../../../plugins/kit/fault.ts";
import { compareQuantity, parseQuantity, type Quantity } from "../../../plugins/kit/quantity.ts";
import type { Container, PodSpec, Probe } from "../../../plugins/kit/objects/types.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notFoundField,
  notSupported,
  required,
} from "../field-error.ts";
import { validateContainerSecurity } from "./validate-security.ts";
import { dnsLabel, isPortNumber, portName, qualifiedName } from "../names.ts";

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const protocols = ["TCP", "UDP", "SCTP"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const portRange = "must be between 1 and 65535, inclusive";

type Kind = "containers" | "initContainers" | "ephemeralContainers";

export function validateContainers(
  spec: PodSpec,
  field: string,
  volumes: ReadonlySet<string>,
  errors: FieldErrors,
): void {
  if ((spec.containers?.length ?? 0) === 0) errors.push(required(`${field}.containers`));
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  for (const kind of ["containers", "initContainers", "ephemeralContainers"] as const) {
    ((spec[kind] ?? []) as Container[]).forEach((container, index) => {
      const at = `${field}.${kind}[${index}]`;
      validateContainer(container, at, kind, volumes, errors);
      if (container.name && names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name));
      names.add(container.name);
      (container.ports ?? []).forEach((port, portIndex) => {
        if (!port.hostPort || kind !== "containers") return;
        const id = `${port.protocol}/${port.hostIP ?? ""}/${port.hostPort}`;
        if (hostPorts.has(id)) errors.push(duplicate(`${at}.ports[${portIndex}].hostPort`, id));
        hostPorts.add(id);
      });
    });
  }
}

function validateContainer(
  container: Container,
  at: string,
  kind: Kind,
  volumes: ReadonlySet<string>,
  errors: FieldErrors,
): void {
  if (!container.name) errors.push(required(`${at}.name`));
  else for (const problem of dnsLabel(container.name)) errors.push(invalid(`${at}.name`, container.name, problem));
  if (!container.image) errors.push(required(`${at}.image`));
  else if (container.image.trim() !== container.image)
    errors.push(invalid(`${at}.image`, container.image, "must not have leading or trailing whitespace"));
  if (container.imagePullPolicy && !pullPolicies.includes(container.imagePullPolicy))
    errors.push(notSupported(`${at}.imagePullPolicy`, container.imagePullPolicy, pullPolicies));
  if (container.terminationMessagePolicy && !messagePolicies.includes(container.terminationMessagePolicy))
    errors.push(notSupported(`${at}.terminationMessagePolicy`, container.terminationMessagePolicy, messagePolicies));
  validatePorts(container, at, errors);
  validateEnv(container, at, errors);
  validateMounts(container, at, volumes, errors);
  validateResources(container, at, errors);
  validateProbes(container, at, kind, errors);
  validateContainerSecurity(container.securityContext, `${at}.securityContext`, errors);
  const { restartPolicy } = container;
  if (restartPolicy && kind !== "initContainers")
    errors.push(forbidden(`${at}.restartPolicy`, "may not be set for non-init containers"));
  else if (restartPolicy && restartPolicy !== "Always")
    errors.push(notSupported(`${at}.restartPolicy`, restartPolicy, ["Always"]));
  for (const event of ["postStart", "preStop"] as const) {
    const handler = container.lifecycle?.[event];
    if (handler && !handler.exec && !handler.httpGet && !handler.tcpSocket && !handler.sleep)
      errors.push(required(`${at}.lifecycle.${event}`, "must specify a handler type"));
  }
}

function validatePorts(container: Container, at: string, errors: FieldErrors): void {
  const names = new Set<string>();
  (container.ports ?? []).forEach((port, index) => {
    const field = `${at}.ports[${index}]`;
    if (port.name) {
      for (const problem of portName(port.name)) errors.push(invalid(`${field}.name`, port.name, problem));
      if (names.has(port.name)) errors.push(duplicate(`${field}.name`, port.name));
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

function validateEnv(container: Container, at: string, errors: FieldErrors): void {
  (container.envFrom ?? []).forEach(({ configMapRef, secretRef }, index) => {
    const field = `${at}.envFrom[${index}]`;
    if (!configMapRef && !secretRef)
      errors.push(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"));
    if (configMapRef && secretRef)
      errors.push(invalid(field, "", "may not have more than one field specified at a time"));
    if (configMapRef && !configMapRef.name) errors.push(required(`${field}.configMapRef.name`));
    if (secretRef && !secretRef.name) errors.push(required(`${field}.secretRef.name`));
  });
  (container.env ?? []).forEach((variable, index) => {
    const field = `${at}.env[${index}]`;
    if (!variable.name) errors.push(required(`${field}.name`));
    else if (!/^[ -<>-~]+$/.test(variable.name))
      errors.push(
        invalid(
          `${field}.name`,
          variable.name,
          "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
      );
    const from = variable.valueFrom;
    if (!from) return;
    const sources = Object.values(from).filter((source) => source !== undefined && source !== null);
    if (variable.value && sources.length > 0)
      errors.push(invalid(`${field}.valueFrom`, "", "may not be specified when `value` is not empty"));
    if (sources.length === 0)
      errors.push(
        invalid(
          `${field}.valueFrom`,
          "",
          "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        ),
      );
    if (sources.length > 1)
      errors.push(invalid(`${field}.valueFrom`, "", "may not have more than one field specified at a time"));
    for (const name of ["configMapKeyRef", "secretKeyRef"] as const) {
      const reference = from[name];
      if (!reference) continue;
      if (!reference.name) errors.push(required(`${field}.valueFrom.${name}.name`));
      if (!reference.key) errors.push(required(`${field}.valueFrom.${name}.key`));
    }
    if (from.fieldRef && !from.fieldRef.fieldPath) errors.push(required(`${field}.valueFrom.fieldRef.fieldPath`));
    if (from.resourceFieldRef && !from.resourceFieldRef.resource)
      errors.push(required(`${field}.valueFrom.resourceFieldRef.resource`));
  });
}

function validateMounts(container: Container, at: string, volumes: ReadonlySet<string>, errors: FieldErrors): void {
  const paths = new Set<string>();
  (container.volumeMounts ?? []).forEach((mount, index) => {
    const field = `${at}.volumeMounts[${index}]`;
    if (!mount.name) errors.push(required(`${field}.name`));
    else if (!volumes.has(mount.name)) errors.push(notFoundField(`${field}.name`, mount.name));
    if (!mount.mountPath) errors.push(required(`${field}.mountPath`));
    else if (paths.has(mount.mountPath)) errors.push(invalid(`${field}.mountPath`, mount.mountPath, "must be unique"));
    paths.add(mount.mountPath);
    if (mount.subPath && mount.subPathExpr)
      errors.push(invalid(`${field}.subPathExpr`, mount.subPathExpr, "subPathExpr and subPath are mutually exclusive"));
    for (const [name, path] of [
      ["subPath", mount.subPath],
      ["subPathExpr", mount.subPathExpr],
    ] as const) {
      if (path?.startsWith("/")) errors.push(invalid(`${field}.${name}`, path, "must be a relative path"));
      if (path?.split("/").includes("..")) errors.push(invalid(`${field}.${name}`, path, "must not contain '..'"));
    }
  });
}

function quantityAt(value: unknown, field: string, errors: FieldErrors): Quantity | undefined {
  try {
    const quantity = parseQuantity(value as string | number);
    if (quantity.nano < 0n) errors.push(invalid(field, value, "must be greater than or equal to 0"));
    return quantity;
  } catch (error) {
    if (!isFault(error)) throw error;
    errors.push(
      invalid(
        field,
        value,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      ),
    );
    return undefined;
  }
}

function validateResources(container: Container, at: string, errors: FieldErrors): void {
  const limits = (container.resources?.limits ?? {}) as Record<string, unknown>;
  const requests = (container.resources?.requests ?? {}) as Record<string, unknown>;
  const known = new Map<string, Quantity>();
  for (const [name, value] of Object.entries(limits)) {
    for (const problem of qualifiedName(name)) errors.push(invalid(`${at}.resources.limits`, name, problem));
    const quantity = quantityAt(value, `${at}.resources.limits[${name}]`, errors);
    if (quantity) known.set(name, quantity);
  }
  for (const [name, value] of Object.entries(requests)) {
    for (const problem of qualifiedName(name)) errors.push(invalid(`${at}.resources.requests`, name, problem));
    const quantity = quantityAt(value, `${at}.resources.requests[${name}]`, errors);
    const limit = known.get(name);
    if (quantity && limit && compareQuantity(quantity, limit) > 0)
      errors.push(
        invalid(
          `${at}.resources.requests`,
          String(value),
          `must be less than or equal to ${name} limit of ${String(limits[name])}`,
        ),
      );
  }
}

function validateProbes(container: Container, at: string, kind: Kind, errors: FieldErrors): void {
  const isSidecar = container.restartPolicy === "Always";
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"] as const) {
    const probe = container[name];
    if (!probe) continue;
    if (kind !== "containers" && !isSidecar) {
      errors.push(
        forbidden(
          `${at}.${name}`,
          kind === "initContainers"
            ? "may not be set for init containers without restartPolicy=Always"
            : "cannot be set for an Ephemeral Container",
        ),
      );
      continue;
    }
    validateProbe(probe, `${at}.${name}`, errors);
    if (name !== "readinessProbe" && probe.successThreshold !== 1)
      errors.push(invalid(`${at}.${name}.successThreshold`, probe.successThreshold, "must be 1"));
  }
  if (container.lifecycle && kind !== "containers" && !isSidecar)
    errors.push(
      forbidden(
        `${at}.lifecycle`,
        kind === "initContainers"
          ? "may not be set for init containers without restartPolicy=Always"
          : "cannot be set for an Ephemeral Container",
      ),
    );
}

function validateProbe(probe: Probe, at: string, errors: FieldErrors): void {
  const handlers = (["exec", "httpGet", "tcpSocket", "grpc"] as const).filter((name) => probe[name]);
  if (handlers.length === 0) errors.push(required(at, "must specify a handler type"));
  for (const extra of handlers.slice(1))
    errors.push(forbidden(`${at}.${extra}`, "may not specify more than 1 handler type"));
  for (const name of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ] as const) {
    const value = probe[name];
    if (value !== undefined && value !== null && value < 0)
      errors.push(invalid(`${at}.${name}`, value, "must be greater than or equal to 0"));
  }
  if (probe.exec && (probe.exec.command?.length ?? 0) === 0) errors.push(required(`${at}.exec.command`));
  for (const name of ["httpGet", "tcpSocket", "grpc"] as const) {
    const port = probe[name]?.port;
    if (!probe[name]) continue;
    if (typeof port === "string")
      for (const problem of portName(port)) errors.push(invalid(`${at}.${name}.port`, port, problem));
    else if (!isPortNumber(port)) errors.push(invalid(`${at}.${name}.port`, port ?? 0, portRange));
  }
}
