// Validation of Ingresses: hosts, paths, and what stands behind them.

import { isIP } from "node:net";
import { type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dns1035Label, dnsSubdomain, isPortNumber, pathSegment, portName, wildcardSubdomain } from "../names.ts";

interface Backend {
  service?: { name?: string; port?: { name?: string; number?: number } };
  resource?: { apiGroup?: string; kind?: string; name?: string };
}

interface Path {
  path?: string;
  pathType?: string;
  backend?: Backend;
}

export interface IngressSpec {
  ingressClassName?: string;
  defaultBackend?: Backend;
  tls?: { hosts?: string[]; secretName?: string }[];
  rules?: { host?: string; http?: { paths?: Path[] } }[];
}

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
/** What a path is not when it is plain: doubled slashes, steps, and slashes that are written otherwise. */
const oddSequences = ["//", "/./", "/../", "%2f", "%2F"];
const oddEndings = ["/..", "/."];

export function validateIngressSpec(spec: IngressSpec): FieldErrors {
  const errors: FieldErrors = [];
  if ((spec.rules?.length ?? 0) === 0 && !spec.defaultBackend)
    errors.push(invalid("spec", spec.rules ?? [], "either `defaultBackend` or `rules` must be specified"));
  if (spec.defaultBackend) validateBackend(spec.defaultBackend, "spec.defaultBackend", errors);
  (spec.rules ?? []).forEach(({ host, http }, index) => {
    const at = `spec.rules[${index}]`;
    if (host && isIP(host) !== 0) errors.push(invalid(`${at}.host`, host, "must be a DNS name, not an IP address"));
    if (host) validateHost(host, `${at}.host`, errors);
    if (http && (http.paths?.length ?? 0) === 0) errors.push(required(`${at}.http.paths`));
    (http?.paths ?? []).forEach((path, pathIndex) => validatePath(path, `${at}.http.paths[${pathIndex}]`, errors));
  });
  (spec.tls ?? []).forEach(({ hosts, secretName }, index) => {
    const at = `spec.tls[${index}]`;
    (hosts ?? []).forEach((host, hostIndex) => validateHost(host, `${at}.hosts[${hostIndex}]`, errors));
    if (secretName)
      for (const problem of dnsSubdomain(secretName)) errors.push(invalid(`${at}.secretName`, secretName, problem));
  });
  const { ingressClassName } = spec;
  if (ingressClassName != null)
    for (const problem of dnsSubdomain(ingressClassName))
      errors.push(invalid("spec.ingressClassName", ingressClassName, problem));
  return errors;
}

function validateHost(host: string, field: string, errors: FieldErrors): void {
  for (const problem of host.includes("*") ? wildcardSubdomain(host) : dnsSubdomain(host))
    errors.push(invalid(field, host, problem));
}

function validatePath({ path = "", pathType, backend }: Path, at: string, errors: FieldErrors): void {
  if (!pathType) {
    errors.push(required(`${at}.pathType`, "pathType must be specified"));
    return;
  }
  const wrong = (detail: string) => errors.push(invalid(`${at}.path`, path, detail));
  if (!pathTypes.includes(pathType)) errors.push(notSupported(`${at}.pathType`, pathType, pathTypes));
  else if (pathType === "ImplementationSpecific") {
    if (path && !path.startsWith("/")) wrong("must be an absolute path");
  } else {
    if (!path.startsWith("/")) wrong("must be an absolute path");
    for (const odd of oddSequences) if (path.includes(odd)) wrong(`must not contain '${odd}'`);
    for (const odd of oddEndings) if (path.endsWith(odd)) wrong(`cannot end with '${odd}'`);
  }
  validateBackend(backend ?? {}, `${at}.backend`, errors);
}

function validateBackend({ service, resource }: Backend, at: string, errors: FieldErrors): void {
  if (resource && service) {
    errors.push(invalid(at, "", "cannot set both resource and service backends"));
    return;
  }
  if (resource) validateReference(resource, `${at}.resource`, errors);
  else if (!service) errors.push(invalid(at, "", "resource or service backend is required"));
  else {
    if (!service.name) errors.push(required(`${at}.service.name`));
    else
      for (const problem of dns1035Label(service.name))
        errors.push(invalid(`${at}.service.name`, service.name, problem));
    const { name, number } = service.port ?? {};
    if (name && number) errors.push(invalid(at, "", "cannot set both port name & port number"));
    else if (name) for (const problem of portName(name)) errors.push(invalid(`${at}.service.port.name`, name, problem));
    else if (!number) errors.push(required(at, "port name or number is required"));
    else if (!isPortNumber(number))
      errors.push(invalid(`${at}.service.port.number`, number, "must be between 1 and 65535, inclusive"));
  }
}

function validateReference(
  { apiGroup, kind, name }: NonNullable<Backend["resource"]>,
  at: string,
  errors: FieldErrors,
): void {
  if (typeof apiGroup === "string")
    for (const problem of dnsSubdomain(apiGroup)) errors.push(invalid(`${at}.apiGroup`, apiGroup, problem));
  for (const [field, value] of Object.entries({ kind, name }))
    if (!value) errors.push(required(`${at}.${field}`, `${field} is required`));
    else for (const problem of pathSegment(value)) errors.push(invalid(`${at}.${field}`, value, problem));
}
