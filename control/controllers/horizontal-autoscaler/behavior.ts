// From what the metrics ask for to what is done: stabilization over a window, and limits on how fast. Pure.

import type { Autoscaler, ScalingRules } from "./objects.ts";

export interface Past {
  /** What was asked for, and when. */
  readonly asked: readonly { readonly at: number; readonly replicas: number }[];
  /** What was changed, and when; below zero for fewer. */
  readonly changes: readonly { readonly at: number; readonly by: number }[];
}

export interface Decision {
  readonly replicas: number;
  readonly ableReason: string;
  readonly ableMessage: string;
  readonly limitReason: string;
  readonly limitMessage: string;
  readonly isLimited: boolean;
}

const up: Required<ScalingRules> = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};
const down: Required<ScalingRules> = {
  stabilizationWindowSeconds: 300,
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

function rulesFor(given: ScalingRules | null | undefined, otherwise: Required<ScalingRules>): Required<ScalingRules> {
  return {
    stabilizationWindowSeconds: given?.stabilizationWindowSeconds ?? otherwise.stabilizationWindowSeconds,
    selectPolicy: given?.selectPolicy ?? otherwise.selectPolicy,
    policies: given?.policies?.length ? given.policies : otherwise.policies,
  };
}

const upRules = ({ spec }: Autoscaler) => rulesFor(spec.behavior?.scaleUp, up);
const downRules = ({ spec }: Autoscaler) => rulesFor(spec.behavior?.scaleDown, down);

/** How long the past matters. */
export function memoryMs(autoscaler: Autoscaler): number {
  const rules = [upRules(autoscaler), downRules(autoscaler)];
  const seconds = rules.flatMap(({ stabilizationWindowSeconds, policies }) => [
    stabilizationWindowSeconds ?? 0,
    ...(policies ?? []).map(({ periodSeconds }) => periodSeconds),
  ]);
  return Math.max(...seconds) * 1000;
}

export function decide(autoscaler: Autoscaler, current: number, asked: number, past: Past, now: number): Decision {
  const stable = stabilize(autoscaler, current, asked, past, now);
  const ableReason =
    stable === asked ? "ReadyForNewScale" : stable < asked ? "ScaleUpStabilized" : "ScaleDownStabilized";
  const ableMessage =
    stable === asked
      ? "recommended size matches current size"
      : `recent recommendations were ${stable < asked ? "lower" : "higher"} than current one, applying the ${stable < asked ? "lowest" : "highest"} recent recommendation`;
  return { ableReason, ableMessage, ...limit(autoscaler, current, stable, past, now) };
}

function stabilize(autoscaler: Autoscaler, current: number, asked: number, past: Past, now: number): number {
  const within = (seconds: number | null) =>
    past.asked.filter(({ at }) => at > now - (seconds ?? 0) * 1000).map(({ replicas }) => replicas);
  const lowest = Math.min(asked, ...within(upRules(autoscaler).stabilizationWindowSeconds));
  const highest = Math.max(asked, ...within(downRules(autoscaler).stabilizationWindowSeconds));
  return Math.min(Math.max(current, lowest), highest);
}

function limit(autoscaler: Autoscaler, current: number, wanted: number, past: Past, now: number) {
  const { minReplicas = 1, maxReplicas } = autoscaler.spec;
  const made = (replicas: number, isLimited: boolean, limitReason: string, limitMessage: string) => ({
    replicas,
    isLimited,
    limitReason,
    limitMessage,
  });
  if (wanted > current) {
    const pace = Math.max(current, ceilingOf(upRules(autoscaler), current, past, now));
    if (wanted > Math.min(pace, maxReplicas))
      return pace < maxReplicas
        ? made(pace, true, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
        : made(
            maxReplicas,
            true,
            "TooManyReplicas",
            "the desired replica count is more than the maximum replica count",
          );
  } else if (wanted < current) {
    const pace = Math.min(current, floorOf(downRules(autoscaler), current, past, now));
    if (wanted < Math.max(pace, minReplicas))
      return pace > minReplicas
        ? made(
            pace,
            true,
            "ScaleDownLimit",
            "the desired replica count is decreasing faster than the maximum scale rate",
          )
        : made(minReplicas, true, "TooFewReplicas", "the desired replica count is less than the minimum replica count");
  }
  if (wanted > maxReplicas)
    return made(
      maxReplicas,
      true,
      "TooManyReplicas",
      "the desired replica count is more than the maximum replica count",
    );
  if (wanted < minReplicas)
    return made(
      minReplicas,
      true,
      "TooFewReplicas",
      "the desired replica count is less than the minimum replica count",
    );
  return made(wanted, false, "DesiredWithinRange", "the desired count is within the acceptable range");
}

const startOf = (current: number, past: Past, periodSeconds: number, now: number) =>
  current - past.changes.filter(({ at }) => at > now - periodSeconds * 1000).reduce((total, { by }) => total + by, 0);

function ceilingOf(
  { policies, selectPolicy }: Required<ScalingRules>,
  current: number,
  past: Past,
  now: number,
): number {
  if (selectPolicy === "Disabled") return current;
  const limits = (policies ?? []).map(({ type, value, periodSeconds }) => {
    const start = startOf(current, past, periodSeconds, now);
    return type === "Pods" ? start + value : Math.ceil((start * (100 + value)) / 100);
  });
  return selectPolicy === "Min" ? Math.min(...limits) : Math.max(...limits);
}

function floorOf({ policies, selectPolicy }: Required<ScalingRules>, current: number, past: Past, now: number): number {
  if (selectPolicy === "Disabled") return current;
  const limits = (policies ?? []).map(({ type, value, periodSeconds }) => {
    const start = startOf(current, past, periodSeconds, now);
    return type === "Pods" ? start - value : Math.floor((start * (100 - value)) / 100);
  });
  return selectPolicy === "Min" ? Math.max(...limits) : Math.min(...limits);
}
