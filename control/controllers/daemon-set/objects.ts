// DaemonSets as their controller reads them.

import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import type { PodTemplate } from "../pods/pod-control.ts";

export interface DaemonSetStatus {
  currentNumberScheduled?: number;
  numberMisscheduled?: number;
  desiredNumberScheduled?: number;
  numberReady?: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
}

export interface DaemonSet {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly selector?: { matchLabels?: Record<string, string> };
    readonly template: PodTemplate;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string; readonly maxSurge?: number | string };
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
  };
  readonly status?: DaemonSetStatus;
}

export const daemonSetType = { apiVersion: "apps/v1", kind: "DaemonSet" };
