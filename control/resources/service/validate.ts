// Validation of Services.

import { isIP } from "node:net";
import type { Service } from "../../../plugins/kit/objects/types.ts";
import { duplicate, type FieldErrors, forbidden, invalid, notSupported, required } from "../field-error.ts";
import { dnsLabel, dnsSubdomain, isPortNumber, portName } from "../names.ts";
import { validateLabels } from "../object-meta.ts";

const types = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
const protocols = ["TCP", "UDP", "SCTP"];
const portRange = "must be between 1 and 65535, inclusive";

export function validateService(service: Service, previous: Service | undefined): FieldErrors {
  const spec = service.spec ?? {};
  const errors: FieldErrors = [];
  const isHeadless = spec.clusterIP === "None";
  if (!spec.type) errors.push(required("spec.type"));
  else if (!types.includes(spec.type)) errors.push(notSupported("spec.type", spec.type, types));
  if ((spec.ports?.length ?? 0) === 0 && !isHeadless && spec.type !== "ExternalName")
    errors.push(required("spec.ports"));
  if (isHeadless && (spec.type === "NodePort" || spec.type === "LoadBalancer"))
    errors.push(invalid("spec.clusterIPs[0]", spec.clusterIP, `may not be set to 'None' for ${spec.type} services`));
  if (spec.type === "ExternalName") {
    if (!spec.externalName) errors.push(required("spec.externalName"));
    else
      for (const problem of dnsSubdomain(spec.externalName.replace(/\.$/, "")))
        errors.push(invalid("spec.externalName", spec.externalName, problem));
    if (spec.clusterIP) errors.push(forbidden("spec.clusterIPs", "may not be set when `type` is ExternalName"));
  } else if (spec.clusterIP && !isHeadless && isIP(spec.clusterIP) === 0)
    errors.push(
      invalid("spec.clusterIPs[0]", spec.clusterIP, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    );
  if (spec.clusterIP && spec.clusterIPs?.[0] !== undefined && spec.clusterIPs[0] !== spec.clusterIP)
    errors.push(invalid("spec.clusterIPs", spec.clusterIPs, "first value must match `clusterIP`"));
  errors.push(...validateLabels(spec.selector, "spec.selector"));
  if (spec.sessionAffinity && !["None", "ClientIP"].includes(spec.sessionAffinity))
    errors.push(notSupported("spec.sessionAffinity", spec.sessionAffinity, ["ClientIP", "None"]));
  validatePorts(spec, errors);
  (spec.externalIPs ?? []).forEach((address, index) => {
    if (isIP(address) === 0)
      errors.push(
        invalid(`spec.externalIPs[${index}]`, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
      );
  });
  for (const field of ["externalTrafficPolicy", "internalTrafficPolicy"] as const)
    if (spec[field] && !["Cluster", "Local"].includes(spec[field]))
      errors.push(notSupported(`spec.${field}`, spec[field], ["Cluster", "Local"]));
  if (previous) validateChange(spec, previous.spec ?? {}, errors);
  return errors;
}

function validatePorts(spec: NonNullable<Service["spec"]>, errors: FieldErrors): void {
  const names = new Set<string>();
  const seen = new Set<string>();
  const ports = spec.ports ?? [];
  ports.forEach((port, index) => {
    const at = `spec.ports[${index}]`;
    if (ports.length > 1 && !port.name) errors.push(required(`${at}.name`));
    else if (port.name) {
      for (const problem of dnsLabel(port.name)) errors.push(invalid(`${at}.name`, port.name, problem));
      if (names.has(port.name)) errors.push(duplicate(`${at}.name`, port.name));
      names.add(port.name);
    }
    if (!isPortNumber(port.port)) errors.push(invalid(`${at}.port`, port.port ?? 0, portRange));
    if (port.protocol && !protocols.includes(port.protocol))
      errors.push(notSupported(`${at}.protocol`, port.protocol, protocols));
    const { targetPort } = port;
    if (typeof targetPort === "string") {
      for (const problem of portName(targetPort)) errors.push(invalid(`${at}.targetPort`, targetPort, problem));
    } else if (targetPort !== undefined && !isPortNumber(targetPort))
      errors.push(invalid(`${at}.targetPort`, targetPort, portRange));
    if (port.nodePort && spec.type !== "NodePort" && spec.type !== "LoadBalancer")
      errors.push(forbidden(`${at}.nodePort`, `may not be used when \`type\` is '${spec.type}'`));
    const id = `${port.protocol ?? "TCP"}/${port.port}`;
    if (seen.has(id)) errors.push(duplicate(at, port));
    seen.add(id);
  });
}

function validateChange(
  spec: NonNullable<Service["spec"]>,
  before: NonNullable<Service["spec"]>,
  errors: FieldErrors,
): void {
  if (
    spec.type !== "ExternalName" &&
    before.type !== "ExternalName" &&
    before.clusterIP &&
    spec.clusterIP !== before.clusterIP
  )
    errors.push(invalid("spec.clusterIPs[0]", spec.clusterIPs?.[0] ?? spec.clusterIP ?? "", "may not change once set"));
  const [family] = spec.ipFamilies ?? [];
  const [familyBefore] = before.ipFamilies ?? [];
  if (spec.type !== "ExternalName" && family && familyBefore && family !== familyBefore)
    errors.push(invalid("spec.ipFamilies[0]", family, "may not change once set"));
}
