// PodDisruptionBudgets as their controller reads them.

import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import type { Condition } from "../../manager/conditions.ts";

export interface BudgetStatus {
  observedGeneration?: number;
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: Condition[];
}

export interface Budget {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly selector?: object;
  };
  readonly status?: BudgetStatus;
}

export const budgetType = { apiVersion: "policy/v1", kind: "PodDisruptionBudget" };
