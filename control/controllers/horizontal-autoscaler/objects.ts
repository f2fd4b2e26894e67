// HorizontalPodAutoscalers, scales and pod metrics as the controller reads them.

import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import type { Condition } from "../../manager/conditions.ts";
import type { Metric } from "../../resources/autoscaling/metric.ts";

export interface ScalingRules {
  readonly stabilizationWindowSeconds?: number | null;
  readonly selectPolicy?: string;
  readonly policies?:
    | readonly { readonly type: string; readonly value: number; readonly periodSeconds: number }[]
    | null;
}

export interface AutoscalerStatus {
  observedGeneration?: number;
  lastScaleTime?: string;
  currentReplicas?: number;
  desiredReplicas: number;
  currentMetrics?: Metric[];
  conditions?: Condition[];
}

export interface Autoscaler {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly scaleTargetRef: { readonly apiVersion?: string; readonly kind: string; readonly name: string };
    readonly minReplicas?: number;
    readonly maxReplicas: number;
    readonly metrics?: readonly Metric[];
    readonly behavior?: { readonly scaleUp?: ScalingRules | null; readonly scaleDown?: ScalingRules | null };
  };
  readonly status?: AutoscalerStatus;
}

export interface Scale {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly selector?: string };
}

export interface PodMetrics {
  readonly metadata: ObjectMeta;
  readonly timestamp?: string;
  readonly window?: string;
  readonly containers?: readonly { readonly name: string; readonly usage?: Record<string, string> }[];
}

export const autoscalerType = { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" };
