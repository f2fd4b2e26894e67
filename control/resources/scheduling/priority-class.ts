// PriorityClass.

import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, forbidden, invalid, notSupported } from "../../machinery/field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

const highestUser = 1_000_000_000;
const systemClasses: Record<string, number> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};
const policies = ["Never", "PreemptLowerPriority"];

export const priorityClasses: ResourceDefinition = {
  group: "scheduling.k8s.io",
  version: "v1",
  plural: "priorityclasses",
  singular: "priorityclass",
  kind: "PriorityClass",
  namespaced: false,
  shortNames: ["pc"],
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Value", "The priority.", "integer"),
    column("Global-Default", "Whether it is for pods that name none.", "boolean"),
    ageColumn,
    column("PreemptionPolicy", "Whether it may push others out."),
  ],
  cells: (object, now) => [
    object.metadata.name,
    object.value ?? 0,
    object.globalDefault === true,
    age(object.metadata.creationTimestamp, now),
    object.preemptionPolicy ?? "",
  ],
  defaults(object) {
    object.preemptionPolicy ??= "PreemptLowerPriority";
    object.value ??= 0;
  },
  validate(object, previous) {
    const errors: FieldErrors = [];
    const name = object.metadata.name ?? "";
    const value = Number(object.value ?? 0);
    if (name.startsWith("system-")) {
      if (systemClasses[name] !== value)
        errors.push(
          forbidden("metadata.name", "priority class names with 'system-' prefix are reserved for system use only"),
        );
    } else if (value > highestUser)
      errors.push(forbidden("value", `maximum allowed value of a user defined priority is ${highestUser}`));
    if (!policies.includes(String(object.preemptionPolicy)))
      errors.push(notSupported("preemptionPolicy", object.preemptionPolicy, policies));
    if (previous && previous.value !== object.value)
      errors.push(forbidden("value", "may not be changed in an update."));
    if (previous && previous.preemptionPolicy !== object.preemptionPolicy)
      errors.push(invalid("preemptionPolicy", object.preemptionPolicy, "field is immutable"));
    return errors;
  },
};
