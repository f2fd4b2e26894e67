// RuntimeClass.

import type { ResourceDefinition } from "../definition.ts";
import type { PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { duplicate, type FieldErrors, invalid } from "../../machinery/field-error.ts";
import { dnsLabel } from "../names.ts";
import { validateLabels } from "../object-meta.ts";
import { validateTolerations } from "../pod-spec/validate.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface Scheduling {
  nodeSelector?: Record<string, string>;
  tolerations?: NonNullable<PodSpec["tolerations"]>;
}

function validateScheduling({ nodeSelector, tolerations = [] }: Scheduling): FieldErrors {
  const errors = validateLabels(nodeSelector, "scheduling.nodeSelector");
  // The path is upstream's.
  validateTolerations({ tolerations }, "scheduling.tolerations", errors);
  const seen = new Set<string>();
  tolerations.forEach((one, index) => {
    const text = JSON.stringify(one);
    if (seen.has(text)) errors.push(duplicate(`scheduling.tolerations[${index}]`, one));
    seen.add(text);
  });
  return errors;
}

export const runtimeClasses: ResourceDefinition = {
  group: "node.k8s.io",
  version: "v1",
  plural: "runtimeclasses",
  needsResourceVersion: true,
  createsOnUpdate: true,
  singular: "runtimeclass",
  kind: "RuntimeClass",
  namespaced: false,
  columns: [nameColumn, column("Handler", "What the runtime calls it."), ageColumn],
  cells: (object, now) => [object.metadata.name, object.handler ?? "", age(object.metadata.creationTimestamp, now)],
  validate(object, previous) {
    const handler = String(object.handler ?? "");
    const errors = dnsLabel(handler).map((problem) => invalid("handler", handler, problem));
    errors.push(...validateScheduling((object.scheduling ?? {}) as Scheduling));
    if (previous && previous.handler !== handler) errors.push(invalid("handler", handler, "field is immutable"));
    return errors;
  },
};
