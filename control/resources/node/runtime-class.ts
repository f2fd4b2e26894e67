// RuntimeClass.

import type { ResourceDefinition } from "../definition.ts";
import { invalid, required } from "../field-error.ts";
import { dnsLabel } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

export const runtimeClasses: ResourceDefinition = {
  group: "node.k8s.io",
  version: "v1",
  plural: "runtimeclasses",
  singular: "runtimeclass",
  kind: "RuntimeClass",
  namespaced: false,
  columns: [nameColumn, column("Handler", "What the runtime calls it."), ageColumn],
  cells: (object, now) => [object.metadata.name, object.handler ?? "", age(object.metadata.creationTimestamp, now)],
  validate(object, previous) {
    const handler = String(object.handler ?? "");
    if (handler === "") return [required("handler")];
    const errors = dnsLabel(handler).map((problem) => invalid("handler", handler, problem));
    if (previous && previous.handler !== handler) errors.push(invalid("handler", handler, "field is immutable"));
    return errors;
  },
};
