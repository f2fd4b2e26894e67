// Validation of resource claims: those that a pod names, and those of them that its containers use.

import type { Container, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { duplicate, type FieldErrors, invalid, notFoundField, required } from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain } from "../names.ts";

export function validatePodClaims(claims: PodSpec["resourceClaims"], field: string, errors: FieldErrors): void {
  const names = new Set<string>();
  (claims ?? []).forEach((claim, index) => {
    const at = `${field}[${index}]`;
    if (!claim.name) errors.push(required(`${at}.name`));
    else if (names.has(claim.name)) errors.push(duplicate(`${at}.name`, claim.name));
    else for (const problem of dnsLabel(claim.name)) errors.push(invalid(`${at}.name`, claim.name, problem));
    names.add(claim.name);
    const sources = (["resourceClaimName", "resourceClaimTemplateName"] as const).filter((name) => claim[name] != null);
    if (sources.length === 2)
      errors.push(
        invalid(at, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
      );
    if (sources.length === 0)
      errors.push(invalid(at, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    for (const source of sources)
      for (const problem of dnsSubdomain(claim[source] ?? ""))
        errors.push(invalid(`${at}.${source}`, claim[source], problem));
  });
}

/** A container may use a claim as a whole, or single requests of it, each once. */
export function validateContainerClaims(
  claims: NonNullable<Container["resources"]>["claims"],
  known: readonly string[],
  field: string,
  errors: FieldErrors,
): void {
  const used = new Set<string>();
  (claims ?? []).forEach(({ name, request }, index) => {
    const at = `${field}[${index}]`;
    if (!name) {
      errors.push(required(at));
      return;
    }
    if (request) for (const problem of dnsLabel(request)) errors.push(invalid(`${at}.request`, request, problem));
    const id = request ? `${name}/${request}` : name;
    if (used.has(name)) errors.push(duplicate(at, name));
    else if (used.has(id)) errors.push(duplicate(at, id));
    else if (!request && [...used].some((other) => other.startsWith(`${name}/`))) errors.push(duplicate(at, name));
    used.add(id);
    if (known.includes(name)) return;
    const { message, ...error } = notFoundField(at, name);
    const names = known.length === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
    errors.push({ ...error, message: `${message}: must be one of the names in pod.spec.resourceClaims${names}` });
  });
}
