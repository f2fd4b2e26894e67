// Validation of what a load balancer says of a service.

import { isIP } from "node:net";
import type { Service } from "../../../plugins/kit/kube/objects/types.ts";
import { validateIp } from "../addresses.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dnsSubdomain } from "../names.ts";

type Ingress = NonNullable<NonNullable<NonNullable<Service["status"]>["loadBalancer"]>["ingress"]>[number];

const ipModes = ["Proxy", "VIP"];

/** An address that a balancer does not describe is one that packets keep on their way to the node. */
export function defaultServiceStatus({ spec, status }: Service): void {
  if (spec?.type !== "LoadBalancer") return;
  for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= "VIP";
}

export function validateServiceStatus({ spec, status }: Service): FieldErrors {
  const errors: FieldErrors = [];
  const all = status?.loadBalancer?.ingress ?? [];
  const field = "status.loadBalancer.ingress";
  if (spec?.type !== "LoadBalancer" && all.length > 0)
    errors.push(forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'"));
  else all.forEach((ingress, index) => validateIngress(ingress, `${field}[${index}]`, errors));
  return errors;
}

function validateIngress(ingress: Ingress, at: string, errors: FieldErrors): void {
  const { ip, ipMode } = ingress;
  if (ipMode == null) {
    if (ip) errors.push(required(`${at}.ipMode`, "must be specified when `ip` is set"));
  } else if (!ip) errors.push(forbidden(`${at}.ipMode`, "may not be specified when `ip` is not set"));
  else if (!ipModes.includes(ipMode)) errors.push(notSupported(`${at}.ipMode`, ipMode, ipModes));
  errors.push(...validateBalanced(ingress, at));
}

/** An address and a name at which something is balanced, of a service or an ingress. */
export function validateBalanced({ ip, hostname }: { ip?: string; hostname?: string }, at: string): FieldErrors {
  const errors: FieldErrors = ip ? [...validateIp(ip, `${at}.ip`)] : [];
  if (!hostname) return errors;
  for (const problem of dnsSubdomain(hostname)) errors.push(invalid(`${at}.hostname`, hostname, problem));
  if (isIP(hostname) !== 0) errors.push(invalid(`${at}.hostname`, hostname, "must be a DNS name, not an IP address"));
  return errors;
}
