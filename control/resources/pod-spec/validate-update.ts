// What may change in a pod after it was made: images, deadlines, tolerations; ephemeral containers and resources through their own doors.

import { deepEqual } from "../equal.ts";
import type { Container, Pod, PodSpec } from "../../../plugins/kit/objects/types.ts";
import { type FieldErrors, forbidden, invalid } from "../field-error.ts";
import { validatePodSpec } from "./validate.ts";

const rule =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

export function validatePodUpdate(pod: Pod, previous: Pod): FieldErrors {
  const next = pod.spec as PodSpec;
  const before = previous.spec as PodSpec;
  if (deepEqual(next, before)) return [];
  const errors = validatePodSpec(next, "spec");
  if ((next.containers?.length ?? 0) !== before.containers.length)
    errors.push(forbidden("spec.containers", "pod updates may not add or remove containers"));
  if ((next.initContainers?.length ?? 0) !== (before.initContainers?.length ?? 0))
    errors.push(forbidden("spec.initContainers", "pod updates may not add or remove containers"));
  if (errors.length > 0) return errors;
  const missing = (before.tolerations ?? []).filter(
    (one) => !(next.tolerations ?? []).some((other) => deepEqual(one, other)),
  );
  if (missing.length > 0)
    errors.push(forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
  const gates = new Set((before.schedulingGates ?? []).map((gate) => gate.name));
  if ((next.schedulingGates ?? []).some((gate) => !gates.has(gate.name)))
    errors.push(forbidden("spec.schedulingGates", "only deletion is allowed, but found new scheduling gates"));
  if (!deepEqual(withoutMutable(next, before), before)) errors.push(forbidden("spec", rule));
  return errors;
}

/** The next state with all that may change set back to what it was. */
function withoutMutable(next: PodSpec, before: PodSpec): PodSpec {
  const back = (containers: Container[] | undefined, others: Container[] | undefined) =>
    containers?.map((container, index) => ({ ...container, image: others?.[index]?.image ?? "" }));
  const result: PodSpec = { ...next, containers: back(next.containers, before.containers) ?? [] };
  if (next.initContainers) result.initContainers = back(next.initContainers, before.initContainers) ?? [];
  for (const field of [
    "activeDeadlineSeconds",
    "tolerations",
    "schedulingGates",
    "terminationGracePeriodSeconds",
  ] as const) {
    if (before[field] === undefined) delete result[field];
    else Object.assign(result, { [field]: before[field] });
  }
  if (before.schedulingGates)
    for (const field of ["nodeSelector", "affinity"] as const) {
      if (before[field] === undefined) delete result[field];
      else Object.assign(result, { [field]: before[field] });
    }
  return result;
}

export function validateEphemeral(pod: Pod, previous: Pod): FieldErrors {
  const errors = validatePodSpec(pod.spec, "spec").filter((error) =>
    error.field.startsWith("spec.ephemeralContainers"),
  );
  const next = pod.spec?.ephemeralContainers ?? [];
  for (const before of previous.spec?.ephemeralContainers ?? []) {
    const found = next.find((one) => one.name === before.name);
    if (!found)
      errors.push(
        forbidden(
          "spec.ephemeralContainers",
          `existing ephemeral containers ${JSON.stringify(before.name)} may not be removed\n`,
        ),
      );
    else if (!deepEqual(found, before))
      errors.push(
        forbidden(
          "spec.ephemeralContainers",
          `existing ephemeral containers ${JSON.stringify(before.name)} may not be changed\n`,
        ),
      );
  }
  return errors;
}

function withoutResources(container: Container): Container {
  const { resources: _resources, ...rest } = container;
  return rest;
}

/** Only cpu and memory of containers may be resized. */
export function validateResize(pod: Pod, previous: Pod): FieldErrors {
  const errors = validatePodSpec(pod.spec, "spec");
  const stripped = (spec: PodSpec): PodSpec => ({
    ...spec,
    containers: spec.containers.map(withoutResources),
    ...(spec.initContainers ? { initContainers: spec.initContainers.map(withoutResources) } : {}),
  });
  if (!deepEqual(stripped(pod.spec as PodSpec), stripped(previous.spec as PodSpec)))
    errors.push(forbidden("spec", "only cpu and memory resources are mutable"));
  if (previous.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined)
    errors.push(invalid("metadata.annotations", "kubernetes.io/config.mirror", "static pods cannot be resized"));
  return errors;
}
