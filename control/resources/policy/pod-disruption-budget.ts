// PodDisruptionBudget.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { invalid, notSupported } from "../../machinery/field-error.ts";
import { validateIntOrPercent, validateNotAboveAll } from "../int-or-percent.ts";
import { type LabelSelector, validateLabelSelector } from "../label-selector.ts";
import { pathSegment } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface BudgetSpec {
  minAvailable?: number | string;
  maxUnavailable?: number | string;
  selector?: LabelSelector;
  unhealthyPodEvictionPolicy?: string;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as BudgetSpec;
const evictionPolicies = ["IfHealthyBudget", "AlwaysAllow"];

export const podDisruptionBudgets: ResourceDefinition = {
  group: "policy",
  version: "v1",
  plural: "poddisruptionbudgets",
  needsResourceVersion: true,
  singular: "poddisruptionbudget",
  kind: "PodDisruptionBudget",
  namespaced: true,
  validateName: pathSegment,
  shortNames: ["pdb"],
  hasStatus: true,
  newStatus: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Min Available", "How many pods must stay."),
    column("Max Unavailable", "How many pods may be missing."),
    column("Allowed Disruptions", "How many may be evicted now.", "integer"),
    ageColumn,
  ],
  cells(object, now) {
    const spec = specOf(object);
    return [
      object.metadata.name,
      String(spec.minAvailable ?? "N/A"),
      String(spec.maxUnavailable ?? "N/A"),
      (object.status as { disruptionsAllowed?: number } | undefined)?.disruptionsAllowed ?? 0,
      age(object.metadata.creationTimestamp, now),
    ];
  },
  validate(object) {
    const spec = specOf(object);
    const errors = [
      ...(["minAvailable", "maxUnavailable"] as const).flatMap((field) => [
        ...validateIntOrPercent(spec[field], `spec.${field}`),
        ...validateNotAboveAll(spec[field], `spec.${field}`),
      ]),
      ...validateLabelSelector(spec.selector, "spec.selector"),
    ];
    if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined)
      errors.push(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
    const policy = spec.unhealthyPodEvictionPolicy;
    if (policy !== undefined && !evictionPolicies.includes(policy))
      errors.push(notSupported("spec.unhealthyPodEvictionPolicy", policy, evictionPolicies));
    return errors;
  },
};
