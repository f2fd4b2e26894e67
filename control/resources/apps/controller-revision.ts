// ControllerRevision: one past template of a DaemonSet or StatefulSet.

import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, invalid, required } from "../../machinery/field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

export const controllerRevisions: ResourceDefinition = {
  group: "apps",
  version: "v1",
  plural: "controllerrevisions",
  singular: "controllerrevision",
  kind: "ControllerRevision",
  namespaced: true,
  columns: [
    nameColumn,
    column("Controller", "Whose template it is."),
    column("Revision", "Which in the order of changes."),
    ageColumn,
  ],
  cells(object, now) {
    const owner = object.metadata.ownerReferences?.find((one) => one.controller === true);
    const group = owner?.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    return [
      object.metadata.name,
      owner ? `${owner.kind.toLowerCase()}${group}/${owner.name}` : "<none>",
      object.revision ?? 0,
      age(object.metadata.creationTimestamp, now),
    ];
  },
  validate(object, previous) {
    const errors: FieldErrors = [];
    if (typeof object.revision === "number" && object.revision < 0)
      errors.push(invalid("revision", object.revision, "must be greater than or equal to 0"));
    if (object.data === undefined || object.data === null) errors.push(required("data", "data is mandatory"));
    if (previous && !deepEqual(previous.data, object.data))
      errors.push(invalid("data", object.data, "field is immutable"));
    return errors;
  },
};
