// What may change in a pod after it was made: images, deadlines, tolerations; ephemeral containers and resources through their own doors.

import { deepEqual } from "../../machinery/equal.ts";
import type { Container, Pod, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, forbidden, invalid } from "../../machinery/field-error.ts";
import { qosClass } from "../core/pod-qos.ts";
import { validatePodOnly, validatePodSpec } from "./validate.ts";

const rule =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

export function validatePodCreate(pod: Pod): FieldErrors {
  const errors = [...validatePodAnnotations(pod), ...validatePodSpec(pod.spec, "spec"), ...validatePodOnly(pod)];
  if ((pod.spec?.ephemeralContainers?.length ?? 0) > 0)
    errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
  if (pod.spec?.nodeName && (pod.spec.schedulingGates?.length ?? 0) > 0)
    errors.push(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  return errors;
}

const annotations = "metadata.annotations";
const mirror = "kubernetes.io/config.mirror";
const deletionCost = "controller.kubernetes.io/pod-deletion-cost";

function validatePodAnnotations(pod: Pod): FieldErrors {
  const errors: FieldErrors = [];
  const said = pod.metadata.annotations ?? {};
  if (said[mirror] !== undefined && !pod.spec?.nodeName)
    errors.push(
      invalid(`${annotations}[${mirror}]`, said[mirror], "must set spec.nodeName if mirror pod annotation is set"),
    );
  const cost = said[deletionCost];
  // A sign and leading zeros are no number to upstream either.
  if (cost !== undefined && (!/^(0|-?[1-9][0-9]{0,9})$/.test(cost) || Number(cost) !== (Number(cost) | 0)))
    errors.push(invalid(`${annotations}[${deletionCost}]`, cost, "must be a 32bit integer"));
  return errors;
}

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

/** Annotations that say what a pod is are the same for its whole life, whichever subresource is written. */
export function validatePodAnnotationUpdate(pod: Pod, previous: Pod): FieldErrors {
  const next = pod.metadata.annotations ?? {};
  const before = previous.metadata.annotations ?? {};
  const errors: FieldErrors = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(next)])) {
    if (next[key] === before[key]) continue;
    const what = before[key] === undefined ? "add" : "remove or update";
    const field = `${annotations}[${key}]`;
    if (key.startsWith(appArmorPrefix)) errors.push(forbidden(field, `may not ${what} AppArmor annotations`));
    if (key === mirror) errors.push(forbidden(field, `may not ${what} mirror pod annotation`));
  }
  return [...errors, ...validatePodAnnotations(pod)];
}

export function validatePodUpdate(pod: Pod, previous: Pod): FieldErrors {
  const next = pod.spec as PodSpec;
  const before = previous.spec as PodSpec;
  const errors = validatePodAnnotationUpdate(pod, previous);
  if (deepEqual(next, before)) return errors;
  errors.push(...validatePodSpec(next, "spec"), ...validatePodOnly(pod));
  for (const kind of ["containers", "initContainers"] as const)
    if ((next[kind]?.length ?? 0) !== (before[kind]?.length ?? 0))
      return [...errors, forbidden(`spec.${kind}`, "pod updates may not add or remove containers")];
  if (errors.length > 0) return errors;
  errors.push(...validateDeadline(next, before));
  const isKept = (one: Toleration) => (next.tolerations ?? []).some((other) => sameButForTime(one, other));
  if (!(before.tolerations ?? []).every(isKept))
    errors.push(forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
  const gates = new Set((before.schedulingGates ?? []).map((gate) => gate.name));
  (next.schedulingGates ?? []).forEach(({ name }, index) => {
    if (!gates.has(name))
      errors.push(
        forbidden(
          `spec.schedulingGates[${index}].name`,
          `only deletion is allowed, but found new scheduling gate '${name}'`,
        ),
      );
  });
  if (gates.size > 0) errors.push(...validateGated(next, before));
  if (!deepEqual(withoutMutable(next, before), before)) errors.push(forbidden("spec", rule));
  return errors;
}

type Toleration = NonNullable<PodSpec["tolerations"]>[number];

function sameButForTime(one: Toleration, other: Toleration): boolean {
  return deepEqual({ ...one, tolerationSeconds: null }, { ...other, tolerationSeconds: null });
}

function validateDeadline(next: PodSpec, before: PodSpec): FieldErrors {
  const field = "spec.activeDeadlineSeconds";
  const [now, was] = [next.activeDeadlineSeconds ?? undefined, before.activeDeadlineSeconds ?? undefined];
  if (was === undefined) return [];
  if (now === undefined) return [invalid(field, null, "must not update from a positive integer to nil value")];
  return now > was ? [invalid(field, now, "must be less than or equal to previous value")] : [];
}

/** A pod that waits behind gates may be narrowed to fewer nodes, never moved to others. */
function validateGated(next: PodSpec, before: PodSpec): FieldErrors {
  const added = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  for (const [key, value] of Object.entries(before.nodeSelector ?? {}))
    if (next.nodeSelector?.[key] !== value) return [invalid("spec.nodeSelector", next.nodeSelector ?? null, added)];
  const field = `spec.affinity.nodeAffinity.${mandatory}.nodeSelectorTerms`;
  const terms = next.affinity?.nodeAffinity?.[mandatory]?.nodeSelectorTerms ?? [];
  const termsBefore = before.affinity?.nodeAffinity?.[mandatory]?.nodeSelectorTerms ?? [];
  if (termsBefore.length === 0) return [];
  if (terms.length !== termsBefore.length)
    return [invalid(field, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")];
  return terms.flatMap((term, index) =>
    hasOnlyAdditions(term, termsBefore[index] ?? {})
      ? []
      : [invalid(`${field}[${index}]`, term, "only additions are allowed (no mutations or deletions)")],
  );
}

const mandatory = "requiredDuringSchedulingIgnoredDuringExecution";
type NodeTerm = { matchExpressions?: unknown[]; matchFields?: unknown[] };

function hasOnlyAdditions(term: NodeTerm, before: NodeTerm): boolean {
  const isEmpty = ({ matchExpressions = [], matchFields = [] }: NodeTerm) =>
    matchExpressions.length + matchFields.length === 0;
  // An empty term matches nothing: with something in it, it would match more.
  if (isEmpty(before)) return isEmpty(term);
  return (["matchExpressions", "matchFields"] as const).every((list) =>
    deepEqual((term[list] ?? []).slice(0, before[list]?.length ?? 0), before[list] ?? []),
  );
}

/** The next state with all that may change set back to what it was. */
function withoutMutable(next: PodSpec, before: PodSpec): PodSpec {
  const back = (containers: Container[] | undefined, others: Container[] | undefined) =>
    containers?.map((container, index) => ({ ...container, image: others?.[index]?.image ?? "" }));
  const result: PodSpec = { ...next, containers: back(next.containers, before.containers) ?? [] };
  if (next.initContainers) result.initContainers = back(next.initContainers, before.initContainers) ?? [];
  const mutable: (keyof PodSpec)[] = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1)
    mutable.push("terminationGracePeriodSeconds");
  if ((before.schedulingGates?.length ?? 0) > 0) {
    mutable.push("nodeSelector");
    const { nodeAffinity: _node, ...rest } = next.affinity ?? {};
    const affinity = {
      ...rest,
      ...(before.affinity?.nodeAffinity ? { nodeAffinity: before.affinity.nodeAffinity } : {}),
    };
    if (before.affinity || Object.keys(affinity).length > 0) result.affinity = affinity;
    else delete result.affinity;
  }
  for (const field of mutable) {
    if (before[field] === undefined) delete result[field];
    else Object.assign(result, { [field]: before[field] });
  }
  return result;
}

export function validateEphemeral(pod: Pod, previous: Pod): FieldErrors {
  if (previous.metadata.annotations?.[mirror] !== undefined)
    return [forbidden("", "static pods do not support ephemeral containers")];
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

type Resources = NonNullable<Container["resources"]>;

/** cpu and memory as they were, so that all else can be compared. */
function withoutResize(container: Container, before: Container | undefined): Container {
  const put = (name: "limits" | "requests") => {
    const amounts: Record<string, unknown> = { ...container.resources?.[name] };
    for (const resource of ["cpu", "memory"]) {
      const was = before?.resources?.[name]?.[resource];
      if (was === undefined) delete amounts[resource];
      else amounts[resource] = was;
    }
    return Object.keys(amounts).length > 0 ? { [name]: amounts } : {};
  };
  const { limits: _limits, requests: _requests, ...rest } = container.resources ?? {};
  const result = { ...container, resources: { ...rest, ...put("limits"), ...put("requests") } as Resources };
  if (before?.resizePolicy) result.resizePolicy = before.resizePolicy;
  else delete result.resizePolicy;
  return result;
}

/** Only cpu and memory of containers may be resized, none of them away, and the pod keeps its class. */
export function validateResize(pod: Pod, previous: Pod): FieldErrors {
  if (previous.metadata.annotations?.[mirror] !== undefined) return [forbidden("", "static pods cannot be resized")];
  if (previous.spec?.os?.name === "windows") return [forbidden("", "windows pods cannot be resized")];
  const next = pod.spec as PodSpec;
  const before = previous.spec as PodSpec;
  const errors = validatePodSpec(next, "spec");
  if (errors.length > 0) return errors;
  if (qosClass(next) !== qosClass(before))
    errors.push(invalid("spec", qosClass(next), "Pod QOS Class may not change as a result of resizing"));
  for (const kind of ["initContainers", "containers"] as const)
    (before[kind] ?? []).forEach((container, index) => {
      if (kind === "initContainers" && container.restartPolicy !== "Always") return;
      for (const name of ["requests", "limits"] as const) {
        const now = next[kind]?.[index]?.resources?.[name] ?? {};
        if (Object.keys(container.resources?.[name] ?? {}).some((resource) => !Object.hasOwn(now, resource)))
          errors.push(forbidden(`spec.${kind}[${index}].resources.${name}`, `resource ${name} cannot be removed`));
      }
    });
  const restored: PodSpec = { ...next };
  for (const kind of ["initContainers", "containers"] as const)
    if (next[kind]) restored[kind] = next[kind].map((one, index) => withoutResize(one, before[kind]?.[index]));
  if (!deepEqual(restored, before)) errors.push(forbidden("spec", "only cpu and memory resources are mutable"));
  return errors;
}
