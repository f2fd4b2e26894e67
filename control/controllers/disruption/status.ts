// A disruption budget's status: how many of its pods may be taken away now. Pure.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { withCondition } from "../../manager/conditions.ts";
import { resolve } from "../deployment/limits.ts";
import { isActive, isReady } from "../pods/pod-facts.ts";
import type { Budget, BudgetStatus } from "./objects.ts";

/** An eviction that was allowed but never happened is forgotten after so long. */
const forgottenAfterMs = 2 * 60_000;

/** Whether the number of pods must come from their controllers: by pods that are there a percentage would shrink with each loss. */
export function needsScale({ spec }: Budget): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === "string";
}

function desiredHealthy({ spec }: Budget, expected: number): number {
  if (spec?.maxUnavailable !== undefined)
    return Math.max(0, expected - resolve(spec.maxUnavailable, expected, "up", 0));
  return resolve(spec?.minAvailable, expected, "up", 1);
}

export function budgetStatus(budget: Budget, pods: readonly Pod[], expected: number, now: number): BudgetStatus {
  const disrupted: Record<string, string> = {};
  for (const [name, at] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = pods.find((one) => one.metadata.name === name);
    if (pod && !pod.metadata.deletionTimestamp && Date.parse(at) + forgottenAfterMs > now) disrupted[name] = at;
  }
  const healthy = pods.filter((pod) => isActive(pod) && isReady(pod) && !disrupted[pod.metadata.name ?? ""]);
  const desired = desiredHealthy(budget, expected);
  const allowed = expected > 0 ? Math.max(0, healthy.length - desired) : 0;
  const condition = {
    type: "DisruptionAllowed",
    status: allowed > 0 ? "True" : "False",
    reason: allowed > 0 ? "SufficientPods" : "InsufficientPods",
    message: "",
    ...(budget.metadata.generation === undefined ? {} : { observedGeneration: budget.metadata.generation }),
  };
  return {
    ...(budget.metadata.generation === undefined ? {} : { observedGeneration: budget.metadata.generation }),
    ...(Object.keys(disrupted).length > 0 ? { disruptedPods: disrupted } : {}),
    disruptionsAllowed: allowed,
    currentHealthy: healthy.length,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: withCondition(budget.status?.conditions, condition, now),
  };
}

/** When an eviction that was allowed will be forgotten. */
export function msUntilForgotten(status: BudgetStatus, now: number): number | undefined {
  const times = Object.values(status.disruptedPods ?? {}).map((at) => Date.parse(at) + forgottenAfterMs - now);
  return times.length > 0 ? Math.max(1, Math.min(...times)) : undefined;
}
