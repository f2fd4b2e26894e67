// storage.k8s.io: classes, attachments, drivers and what they know of nodes and capacity.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type LabelSelector, validateLabelSelector } from "../label-selector.ts";
import { dnsSubdomain, qualifiedName } from "../names.ts";
import { validateAttachment, validateDriver, validateNodeDrivers, validateTopologies } from "./validate-drivers.ts";

const group = "storage.k8s.io";
const version = "v1";
const bindingModes = ["Immediate", "WaitForFirstConsumer"];
const reclaimPolicies = ["Delete", "Retain"];
const specOf = (object: KubeObject) => (object.spec ?? {}) as Record<string, unknown>;

export const storageClasses: ResourceDefinition = {
  group,
  version,
  plural: "storageclasses",
  singular: "storageclass",
  kind: "StorageClass",
  namespaced: false,
  shortNames: ["sc"],
  columns: [
    nameColumn,
    column("Provisioner", "Who makes the volumes."),
    column("ReclaimPolicy", "What happens when they are released."),
    column("VolumeBindingMode", "When they are bound."),
    column("AllowVolumeExpansion", "Whether they may grow."),
    ageColumn,
  ],
  cells(object, now) {
    const { annotations } = object.metadata;
    const isDefault =
      annotations?.["storageclass.kubernetes.io/is-default-class"] === "true" ||
      annotations?.["storageclass.beta.kubernetes.io/is-default-class"] === "true";
    return [
      `${object.metadata.name ?? ""}${isDefault ? " (default)" : ""}`,
      object.provisioner ?? "",
      object.reclaimPolicy ?? "Delete",
      object.volumeBindingMode ?? "Immediate",
      object.allowVolumeExpansion === true,
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    object.reclaimPolicy ??= "Delete";
    object.volumeBindingMode ??= "Immediate";
  },
  validate(object, previous) {
    const errors: FieldErrors = [];
    const provisioner = String(object.provisioner ?? "");
    if (provisioner === "") errors.push(required("provisioner"));
    else
      for (const problem of qualifiedName(provisioner.toLowerCase()))
        errors.push(invalid("provisioner", provisioner.toLowerCase(), problem));
    errors.push(...validateTopologies((object.allowedTopologies ?? []) as []));
    if (object.reclaimPolicy && !reclaimPolicies.includes(String(object.reclaimPolicy)))
      errors.push(notSupported("reclaimPolicy", object.reclaimPolicy, reclaimPolicies));
    if (!bindingModes.includes(String(object.volumeBindingMode)))
      errors.push(notSupported("volumeBindingMode", object.volumeBindingMode, bindingModes));
    if (previous) {
      if (!deepEqual(previous.parameters, object.parameters))
        errors.push(forbidden("parameters", "updates to parameters are forbidden."));
      if (previous.provisioner !== object.provisioner)
        errors.push(forbidden("provisioner", "updates to provisioner are forbidden."));
      for (const field of ["reclaimPolicy", "volumeBindingMode"] as const)
        if (previous[field] !== object[field])
          errors.push(
            field === "reclaimPolicy"
              ? forbidden(field, "updates to reclaimPolicy are forbidden.")
              : invalid(field, object[field], "field is immutable"),
          );
    }
    return errors;
  },
};

export const volumeAttachments: ResourceDefinition = {
  group,
  version,
  plural: "volumeattachments",
  needsResourceVersion: true,
  singular: "volumeattachment",
  kind: "VolumeAttachment",
  namespaced: false,
  hasStatus: true,
  newStatus: { attached: false },
  columns: [
    nameColumn,
    { ...column("Attacher", "Who attaches it."), format: "name" },
    column("PV", "Which volume."),
    column("Node", "Where to."),
    column("Attached", "Whether it is attached.", "boolean"),
    ageColumn,
  ],
  cells(object, now) {
    const spec = specOf(object) as { attacher?: string; nodeName?: string; source?: { persistentVolumeName?: string } };
    return [
      object.metadata.name,
      spec.attacher ?? "",
      spec.source?.persistentVolumeName ?? "",
      spec.nodeName ?? "",
      (object.status as { attached?: boolean } | undefined)?.attached === true,
      age(object.metadata.creationTimestamp, now),
    ];
  },
  prepareCreate(object) {
    object.status = { attached: false };
  },
  validate(object, previous) {
    const errors = validateAttachment(specOf(object));
    if (previous && !deepEqual(previous.spec, object.spec))
      errors.push(invalid("spec", object.spec, "field is immutable"));
    return errors;
  },
};

export const csiNodes: ResourceDefinition = {
  group,
  version,
  plural: "csinodes",
  needsResourceVersion: true,
  singular: "csinode",
  kind: "CSINode",
  namespaced: false,
  columns: [nameColumn, column("Drivers", "How many drivers the node has.", "integer"), ageColumn],
  cells: (object, now) => [
    object.metadata.name,
    ((specOf(object).drivers as unknown[] | undefined) ?? []).length,
    age(object.metadata.creationTimestamp, now),
  ],
  validate: (object) => validateNodeDrivers((specOf(object).drivers ?? []) as []),
};

export const csiDrivers: ResourceDefinition = {
  group,
  version,
  plural: "csidrivers",
  needsResourceVersion: true,
  singular: "csidriver",
  kind: "CSIDriver",
  namespaced: false,
  columns: [
    nameColumn,
    column("AttachRequired", "Whether volumes must be attached first.", "boolean"),
    column("PodInfoOnMount", "Whether it is told of the pod.", "boolean"),
    column("StorageCapacity", "Whether it reports capacity.", "boolean"),
    column("TokenRequests", "For whom it wants tokens."),
    column("RequiresRepublish", "Whether it wants to be called again.", "boolean"),
    column("Modes", "Which kinds of volumes it makes."),
    ageColumn,
  ],
  cells(object, now) {
    const spec = specOf(object) as { tokenRequests?: { audience?: string }[]; volumeLifecycleModes?: string[] };
    const flags = specOf(object);
    return [
      object.metadata.name,
      flags.attachRequired !== false,
      flags.podInfoOnMount === true,
      flags.storageCapacity === true,
      (spec.tokenRequests ?? []).map((one) => one.audience ?? "").join(",") || "<unset>",
      flags.requiresRepublish === true,
      (spec.volumeLifecycleModes ?? []).join(",") || "<none>",
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
    if (((spec.volumeLifecycleModes as unknown[] | undefined) ?? []).length === 0)
      spec.volumeLifecycleModes = ["Persistent"];
  },
  validate: (object) => validateDriver(specOf(object)),
};

export const csiStorageCapacities: ResourceDefinition = {
  group,
  version,
  plural: "csistoragecapacities",
  needsResourceVersion: true,
  singular: "csistoragecapacity",
  kind: "CSIStorageCapacity",
  namespaced: true,
  columns: [nameColumn, column("Created At", "When it was created.", "date")],
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
  validate(object, previous) {
    const errors: FieldErrors = [];
    for (const problem of dnsSubdomain(String(object.storageClassName ?? "")))
      errors.push(invalid("storageClassName", object.storageClassName ?? "", problem));
    errors.push(...validateLabelSelector(object.nodeTopology as LabelSelector | undefined, "nodeTopology"));
    if (previous && previous.storageClassName !== object.storageClassName)
      errors.push(invalid("storageClassName", object.storageClassName, "field is immutable"));
    return errors;
  },
};
