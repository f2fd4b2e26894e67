// Validation of what a node and the scheduler say of a pod.

import type { Pod, PodStatus } from "../../../plugins/kit/kube/objects/types.ts";
import { validateIp } from "../addresses.ts";
import { duplicate, type FieldErrors, forbidden, invalid } from "../../machinery/field-error.ts";
import { dnsSubdomain, qualifiedName } from "../names.ts";
import { validatePodAnnotationUpdate } from "../pod-spec/validate-update.ts";

export function validatePodStatus(pod: Pod, previous: Pod): FieldErrors {
  const { spec, status = {} } = pod;
  const errors: FieldErrors = validatePodAnnotationUpdate(pod, previous);
  // The path and the capital are upstream's.
  (status.conditions ?? []).forEach(({ type }, index) => {
    for (const problem of qualifiedName(type))
      errors.push(invalid(`metadata.conditions[${index}].Type`, type, problem));
  });
  const { nominatedNodeName: nominated, qosClass } = status;
  if (nominated && nominated !== previous.status?.nominatedNodeName) {
    for (const problem of dnsSubdomain(nominated)) errors.push(invalid("status.nominatedNodeName", nominated, problem));
    if (previous.spec?.nodeName)
      errors.push(forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node"));
  }
  if (qosClass !== previous.status?.qosClass) errors.push(invalid("status.qosClass", qosClass, "field is immutable"));
  errors.push(...validateTransitions(status, previous));
  const claims = new Set((spec?.resourceClaims ?? []).map(({ name }) => name));
  validateClaims(status, claims, errors);
  validateIps(status.podIPs ?? [], "status.podIPs", errors);
  const [host] = status.hostIPs ?? [];
  if (host && host.ip !== status.hostIP)
    errors.push(invalid("status.hostIPs[0].ip", host.ip, "must be equal to `hostIP`"));
  validateIps(status.hostIPs ?? [], "status.hostIPs", errors);
  return errors;
}

/** A container that has ended for good does not come back. */
function validateTransitions(status: PodStatus, { spec, status: before = {} }: Pod): FieldErrors {
  const policy = spec?.restartPolicy ?? "Always";
  // Init containers that restart by themselves are there as long as the pod is.
  const sidecars = new Set(
    (spec?.initContainers ?? []).filter((one) => one.restartPolicy === "Always").map(({ name }) => name),
  );
  const lists = [
    ["containerStatuses", policy, new Set<string>()],
    ["initContainerStatuses", policy, sidecars],
    ["ephemeralContainerStatuses", "Never", new Set<string>()],
  ] as const;
  return lists.flatMap(([list, restarts, exempt]) =>
    (before[list] ?? []).flatMap(({ name, state }, index) => {
      const ended = state?.terminated;
      if (!ended || restarts === "Always" || exempt.has(name)) return [];
      if (ended.exitCode !== 0 && restarts === "OnFailure") return [];
      return (status[list] ?? [])
        .filter((one) => one.name === name && !one.state?.terminated)
        .map(() => forbidden(`status.${list}[${index}].state`, "may not be transitioned to non-terminated state"));
    }),
  );
}

function validateClaims(status: PodStatus, claims: ReadonlySet<string>, errors: FieldErrors): void {
  const seen = new Set<string>();
  (status.resourceClaimStatuses ?? []).forEach(({ name, resourceClaimName }, index) => {
    const field = `status.resourceClaimStatuses[${index}].name`;
    if (!claims.has(name))
      errors.push(invalid(field, name, "must match the name of an entry in `spec.resourceClaims`"));
    if (seen.has(name)) errors.push(duplicate(field, name));
    seen.add(name);
    if (resourceClaimName != null)
      for (const problem of dnsSubdomain(resourceClaimName)) errors.push(invalid(field, resourceClaimName, problem));
  });
}

/** At most one of each family. */
function validateIps(ips: readonly { ip?: string }[], field: string, errors: FieldErrors): void {
  ips.forEach(({ ip }, index) => errors.push(...validateIp(ip, `${field}[${index}]`)));
  if (new Set(ips.map(({ ip }) => ip?.includes(":"))).size < ips.length)
    errors.push(invalid(field, ips, "may specify no more than one IP for each IP family"));
  const seen = new Set<string | undefined>();
  ips.forEach((one, index) => {
    if (seen.has(one.ip)) errors.push(duplicate(`${field}[${index}]`, one));
    seen.add(one.ip);
  });
}
