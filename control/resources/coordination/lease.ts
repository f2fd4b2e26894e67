// Lease: who holds something, and until when. Nodes renew theirs every few seconds.

import type { KubeObject, Lease } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid } from "../../machinery/field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

const specOf = (object: KubeObject): NonNullable<Lease["spec"]> => (object as unknown as Lease).spec ?? {};

export const leases: ResourceDefinition = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  needsResourceVersion: true,
  singular: "lease",
  kind: "Lease",
  namespaced: true,
  createsOnUpdate: true,
  columns: [nameColumn, column("Holder", "Who holds the lease."), ageColumn],
  cells: (object, now) => [
    object.metadata.name,
    specOf(object).holderIdentity ?? "",
    age(object.metadata.creationTimestamp, now),
  ],
  validate(object) {
    const { leaseDurationSeconds, leaseTransitions } = specOf(object);
    const errors: FieldErrors = [];
    if (typeof leaseDurationSeconds === "number" && leaseDurationSeconds <= 0)
      errors.push(invalid("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0"));
    if (typeof leaseTransitions === "number" && leaseTransitions < 0)
      errors.push(invalid("spec.leaseTransitions", leaseTransitions, "must be greater than or equal to 0"));
    return errors;
  },
};
