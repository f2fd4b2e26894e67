// StatefulSets as their controller reads them, and the pods and claims that an ordinal has.

import type { KubeObject, ObjectMeta, PersistentVolumeClaim, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerReference } from "../../manager/owners.ts";
import { type PodTemplate, podFromTemplate } from "../pods/pod-control.ts";
import { type ControllerRevision, revisionLabel } from "../revisions/revisions.ts";
import { templateOf } from "../revisions/template-data.ts";

export interface StatefulSetStatus {
  observedGeneration?: number;
  replicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
}

export interface StatefulSet {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { matchLabels?: Record<string, string> };
    readonly template: PodTemplate;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number; readonly maxUnavailable?: number | string };
    };
    readonly volumeClaimTemplates?: readonly PersistentVolumeClaim[];
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenDeleted?: string; readonly whenScaled?: string };
    readonly minReadySeconds?: number;
    readonly ordinals?: { readonly start?: number };
    readonly revisionHistoryLimit?: number;
  };
  readonly status?: StatefulSetStatus;
}

export const statefulSetType = { apiVersion: "apps/v1", kind: "StatefulSet" };

export const firstOrdinal = (set: StatefulSet) => set.spec.ordinals?.start ?? 0;
export const replicasOf = (set: StatefulSet) => set.spec.replicas ?? 1;
export const podName = (set: StatefulSet, ordinal: number) => `${set.metadata.name}-${ordinal}`;

/** The ordinal in a pod's name, or undefined when the name is not of this set. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const match = /^(.*)-(\d+)$/.exec(pod.metadata.name ?? "");
  return match && match[1] === set.metadata.name ? Number(match[2]) : undefined;
}

export const revisionOf = (pod: Pod) => pod.metadata.labels?.[revisionLabel];

/** The labels by which a pod is known as the one of its ordinal. */
const identityOf = (set: StatefulSet, ordinal: number): Record<string, string> => ({
  "statefulset.kubernetes.io/pod-name": podName(set, ordinal),
  "apps.kubernetes.io/pod-index": String(ordinal),
});

/** What is wrong with the pod's identity labels: those to set; undefined when all are right. */
export function missingIdentity(set: StatefulSet, pod: Pod): Record<string, string> | undefined {
  const ordinal = ordinalOf(set, pod);
  if (ordinal === undefined) return undefined;
  const wrong = Object.entries(identityOf(set, ordinal)).filter(([key, value]) => pod.metadata.labels?.[key] !== value);
  return wrong.length === 0 ? undefined : Object.fromEntries(wrong);
}

export function podOf(set: StatefulSet, ordinal: number, revision: ControllerRevision): KubeObject {
  const name = podName(set, ordinal);
  const pod = podFromTemplate({ object: set, type: statefulSetType }, templateOf(revision.data), name);
  pod.metadata.labels = {
    ...pod.metadata.labels,
    [revisionLabel]: revision.metadata.name ?? "",
    ...identityOf(set, ordinal),
  };
  const spec = pod.spec as { hostname?: string; subdomain?: string; volumes?: { name: string }[] };
  spec.hostname = name;
  if (set.spec.serviceName) spec.subdomain = set.spec.serviceName;
  const claims = (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    name: template.metadata.name ?? "",
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }));
  const others = (spec.volumes ?? []).filter((volume) => !claims.some((claim) => claim.name === volume.name));
  if (claims.length > 0) spec.volumes = [...others, ...claims];
  return pod;
}

export const claimName = (set: StatefulSet, template: PersistentVolumeClaim, ordinal: number) =>
  `${template.metadata.name}-${podName(set, ordinal)}`;

export function claimOf(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): KubeObject {
  const { status: _none, ...rest } = structuredClone(template);
  return {
    ...rest,
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      ...(rest.metadata.annotations ? { annotations: rest.metadata.annotations } : {}),
      labels: { ...rest.metadata.labels, ...set.spec.selector?.matchLabels },
      namespace: set.metadata.namespace ?? "",
      name: claimName(set, template, ordinal),
      ...(set.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Delete"
        ? { ownerReferences: [{ ...controllerReference(set, statefulSetType), controller: false }] }
        : {}),
    },
  };
}
