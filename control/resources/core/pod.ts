// Pod: the definition; its defaults and checks live in pod-spec.

import { warnOfName, warnOfTemplate } from "../pod-spec/warnings.ts";
import { isDeepStrictEqual } from "node:util";
import type { KubeObject, Pod, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { defaultPod } from "../pod-spec/defaults.ts";
import {
  validateEphemeral,
  validatePodCreate,
  validatePodUpdate,
  validateResize,
} from "../pod-spec/validate-update.ts";
import { podCells, podColumns } from "./pod-print.ts";
import { qosClass } from "./pod-qos.ts";
import { validatePodStatus } from "./validate-pod-status.ts";

const asPod = (object: KubeObject): Pod => object as unknown as Pod;

export const pods: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "pods",
  singular: "pod",
  kind: "Pod",
  namespaced: true,
  shortNames: ["po"],
  categories: ["all"],
  hasStatus: true,
  answersDeleted: true,
  selectable: {
    "spec.nodeName": (object) => asPod(object).spec?.nodeName ?? "",
    "spec.restartPolicy": (object) => asPod(object).spec?.restartPolicy ?? "",
    "spec.schedulerName": (object) => asPod(object).spec?.schedulerName ?? "",
    "spec.serviceAccountName": (object) => asPod(object).spec?.serviceAccountName ?? "",
    "spec.hostNetwork": (object) => String(asPod(object).spec?.hostNetwork ?? false),
    "status.phase": (object) => asPod(object).status?.phase ?? "",
    "status.podIP": (object) => asPod(object).status?.podIP ?? "",
    "status.podIPs": (object) => asPod(object).status?.podIP ?? "",
    "status.nominatedNodeName": (object) => asPod(object).status?.nominatedNodeName ?? "",
  },
  columns: podColumns,
  cells: (object, now) => podCells(asPod(object), now),
  defaults(object) {
    const pod = asPod(object);
    if (!pod.spec) object.spec = {};
    if (!pod.spec) return;
    defaultPod(pod.spec);
    // Of pods alone: templates keep what they say.
    if ((pod.spec.terminationGracePeriodSeconds ?? 0) < 0) pod.spec.terminationGracePeriodSeconds = 1;
  },
  prepareCreate(object, { now }) {
    const { spec } = asPod(object);
    if (spec) tellAppArmor(asPod(object), spec);
    object.status = { phase: "Pending", ...(spec ? { qosClass: qosClass(spec) } : {}) };
    if (spec && (spec.schedulingGates?.length ?? 0) > 0)
      Object.assign(object.status as object, {
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "SchedulingGated",
            message: "Scheduling is blocked due to non-empty scheduling gates",
            lastProbeTime: null,
            lastTransitionTime: `${new Date(now).toISOString().slice(0, 19)}Z`,
          },
        ],
      });
  },
  // Updates are the work of programs, and many.
  warnings: (object, previous) =>
    previous ? [] : [...warnOfName(object.metadata.name, "the Pod's hostname"), ...warnOfTemplate(asPod(object), "")],
  validate(object, previous) {
    const pod = asPod(object);
    return previous ? validatePodUpdate(pod, asPod(previous)) : validatePodCreate(pod);
  },
  prepareStatus(object, previous) {
    const before = (asPod(previous).status ?? {}) as Readonly<Record<string, unknown>>;
    const next = (object.status ?? {}) as Readonly<Record<string, unknown>>;
    const kept = keptInStatus.filter((field) => before[field] && (next[field] ?? "") === "");
    if (kept.length > 0)
      object.status = { ...next, ...Object.fromEntries(kept.map((field) => [field, before[field]])) };
    const { podIP, podIPs = [] } = asPod(object).status ?? {};
    // The two say the same; where they do not, the older field holds.
    if (podIP && podIPs[0]?.ip !== podIP) object.status = { ...(object.status as object), podIPs: [{ ip: podIP }] };
    else if (!podIP && podIPs[0]?.ip) object.status = { ...(object.status as object), podIP: podIPs[0].ip };
  },
  validateStatus: (object, previous) => validatePodStatus(asPod(object), asPod(previous)),
  graceSeconds(object, asked) {
    const { spec, status } = asPod(object);
    let grace = asked ?? spec?.terminationGracePeriodSeconds ?? 30;
    // Nothing runs that would need the time.
    if (!spec?.nodeName || status?.phase === "Failed" || status?.phase === "Succeeded") grace = 0;
    return grace < 0 ? 1 : grace;
  },
  parts: {
    // Bindings change the pod by their own rules; the request itself is a Binding, not a pod.
    binding: { verbs: [], prepare: (next) => next },
    ephemeralcontainers: {
      verbs: ["get", "patch", "update"],
      prepare(next, previous) {
        const ephemeral = asPod(next).spec?.ephemeralContainers;
        const spec = { ...(previous.spec as PodSpec) };
        if (ephemeral) spec.ephemeralContainers = ephemeral;
        else delete spec.ephemeralContainers;
        previous.spec = spec;
        previous.metadata.managedFields = next.metadata.managedFields ?? [];
        return previous;
      },
      validate: (next, previous) => validateEphemeral(asPod(next), asPod(previous)),
    },
    resize: {
      verbs: ["get", "patch", "update"],
      prepare(next, previous) {
        const isProposed = asksForOther(asPod(next), asPod(previous));
        previous.spec = next.spec;
        if (isProposed) previous.status = { ...(previous.status as object), resize: "Proposed" };
        return previous;
      },
      validate: (next, previous) => validateResize(asPod(next), asPod(previous)),
    },
  },
};

/** Others than the kubelet wrote these; a client that does not know them does not clear them. */
const keptInStatus = [
  "qosClass",
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
  "nodeAllocatableResourceClaimStatuses",
];

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

/** Kubelets from before there was a field for it read annotations. */
function tellAppArmor(pod: Pod, spec: PodSpec): void {
  if (spec.os?.name === "windows") return;
  const ofPod = spec.securityContext?.appArmorProfile;
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  for (const { name, securityContext } of all) {
    const profile = securityContext?.appArmorProfile ?? ofPod;
    const text = profile && appArmorText(profile);
    if (text === undefined) continue;
    pod.metadata.annotations ??= {};
    pod.metadata.annotations[`${appArmorPrefix}${name}`] ??= text;
  }
}

function appArmorText({ type, localhostProfile }: { type: string; localhostProfile?: string }): string | undefined {
  if (type === "Localhost") return localhostProfile ? `localhost/${localhostProfile}` : undefined;
  return { Unconfined: "unconfined", RuntimeDefault: "runtime/default" }[type];
}

/** The node has yet to say whether it can; containers that do not match are refused later. */
function asksForOther(next: Pod, previous: Pod): boolean {
  const before = previous.spec?.containers ?? [];
  return (next.spec?.containers ?? []).some(
    ({ name, resources }, at) =>
      name === before[at]?.name && resources?.requests && !isDeepStrictEqual(resources, before[at]?.resources),
  );
}
