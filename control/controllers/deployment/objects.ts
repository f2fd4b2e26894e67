// Deployments and their replica sets, as this controller reads them.

import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import type { PodTemplate } from "../pods/pod-control.ts";

export interface DeploymentCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastUpdateTime: string;
  lastTransitionTime: string;
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  collisionCount?: number;
  conditions?: DeploymentCondition[];
}

export interface Deployment {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { matchLabels?: Record<string, string> };
    readonly template: PodTemplate;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly paused?: boolean;
    readonly progressDeadlineSeconds?: number;
  };
  readonly status?: DeploymentStatus;
}

export interface ReplicaSet {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly replicas?: number; readonly template: PodTemplate; readonly minReadySeconds?: number };
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly (Pick<DeploymentCondition, "type" | "status"> & Partial<DeploymentCondition>)[];
  };
}

export const annotations = {
  revision: "deployment.kubernetes.io/revision",
  revisionHistory: "deployment.kubernetes.io/revision-history",
  desiredReplicas: "deployment.kubernetes.io/desired-replicas",
  maxReplicas: "deployment.kubernetes.io/max-replicas",
  lastApplied: "kubectl.kubernetes.io/last-applied-configuration",
} as const;

export const templateHashLabel = "pod-template-hash";

export const replicasOf = (set: ReplicaSet) => set.spec.replicas ?? 0;
export const availableOf = (set: ReplicaSet) => set.status?.availableReplicas ?? 0;
export const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number) =>
  sets.reduce((total, set) => total + of(set), 0);
