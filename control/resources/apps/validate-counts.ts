// Validation of how many replicas a workload says it has: none below zero, and no part above the whole.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, invalid } from "../../machinery/field-error.ts";

interface CountRules {
  /** Fields of the status that may not be below zero, in the order in which they are looked at. */
  readonly counts: readonly string[];
  /** A part, the field that it may not be above, and what that is called. */
  readonly within: readonly (readonly [part: string, whole: string, called: string])[];
}

const whole = (part: string) => [part, "replicas", "status.replicas"] as const;

const replicaSet: CountRules = {
  counts: ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"],
  within: [
    whole("fullyLabeledReplicas"),
    whole("readyReplicas"),
    whole("availableReplicas"),
    ["availableReplicas", "readyReplicas", "readyReplicas"],
  ],
};

export const countRules = {
  replicaSet,
  deployment: {
    counts: [
      "observedGeneration",
      "replicas",
      "updatedReplicas",
      "readyReplicas",
      "availableReplicas",
      "unavailableReplicas",
      "collisionCount",
    ],
    within: [
      whole("updatedReplicas"),
      whole("readyReplicas"),
      whole("availableReplicas"),
      ["availableReplicas", "readyReplicas", "readyReplicas"],
    ],
  },
  statefulSet: {
    counts: [
      "replicas",
      "readyReplicas",
      "currentReplicas",
      "updatedReplicas",
      "availableReplicas",
      "observedGeneration",
      "collisionCount",
    ],
    within: [
      whole("readyReplicas"),
      whole("currentReplicas"),
      whole("updatedReplicas"),
      whole("availableReplicas"),
      ["availableReplicas", "readyReplicas", "status.readyReplicas"],
    ],
  },
  daemonSet: {
    counts: [
      "currentNumberScheduled",
      "numberMisscheduled",
      "desiredNumberScheduled",
      "numberReady",
      "observedGeneration",
      "updatedNumberScheduled",
      "numberAvailable",
      "numberUnavailable",
      "collisionCount",
    ],
    within: [],
  },
} as const satisfies Record<string, CountRules>;

export function validateCounts({ counts, within }: CountRules): (object: KubeObject) => FieldErrors {
  return (object) => {
    const status = (object.status ?? {}) as Record<string, number | undefined>;
    const of = (name: string) => status[name] ?? 0;
    return [
      ...counts
        .filter((name) => of(name) < 0)
        .map((name) => invalid(`status.${name}`, of(name), "must be greater than or equal to 0")),
      ...within
        .filter(([part, above]) => of(part) > of(above))
        .map(([part, , called]) => invalid(`status.${part}`, of(part), `cannot be greater than ${called}`)),
    ];
  };
}
