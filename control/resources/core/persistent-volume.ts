// PersistentVolume and PersistentVolumeClaim.

import { validateDriverSource, validateSecretReference } from "../validate-sources.ts";
import { defaultSources, otherSources, volumeSources } from "../volume-sources.ts";
import { warnOfVolume } from "./warn-of-volume.ts";
import { fractionalBytes } from "../fractional-bytes.ts";
import type { KubeObject, PersistentVolume, PersistentVolumeClaim } from "../../../plugins/kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { validateNoBacksteps } from "../paths.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import { age, ageColumn, column, nameColumn, wideColumn } from "../print.ts";
import {
  alignSources,
  defaultClaimSpec,
  validateAccessModes,
  validateClaimSpec,
  validateClass,
  validateDriverName,
  validatePositive,
} from "./claim-spec.ts";
import { validateClaimStatus } from "./validate-claim-status.ts";
import { validateNodeSelector } from "../pod-spec/validate-affinity.ts";
import { hostPathTypes } from "../pod-spec/validate-volumes.ts";

const asVolume = (object: KubeObject) => object as unknown as PersistentVolume;
const asClaim = (object: KubeObject) => object as unknown as PersistentVolumeClaim;

const shortModes: Record<string, string> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};
const modesText = (modes: readonly string[] | undefined) =>
  [...new Set(modes)].map((mode) => shortModes[mode] ?? mode).join(",");
const reclaimPolicies = ["Delete", "Recycle", "Retain"];
const unset = "<unset>";

const notSources = new Set([
  "capacity",
  "accessModes",
  "claimRef",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "mountOptions",
  "volumeMode",
  "nodeAffinity",
  "volumeAttributesClassName",
]);

export const persistentVolumes: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "persistentvolumes",
  singular: "persistentvolume",
  kind: "PersistentVolume",
  namespaced: false,
  shortNames: ["pv"],
  hasStatus: true,
  answersDeleted: true,
  columns: [
    nameColumn,
    column("Capacity", "How much it holds."),
    column("Access Modes", "How it may be mounted."),
    column("Reclaim Policy", "What happens when it is released."),
    column("Status", "Whether it is free, bound or released."),
    column("Claim", "Which claim has it."),
    column("StorageClass", "Its storage class."),
    column("VolumeAttributesClass", "Its attributes class."),
    column("Reason", "Why it is in that state."),
    ageColumn,
    wideColumn("VolumeMode", "File system or raw block."),
  ],
  cells(object, now) {
    const { spec, status, metadata } = asVolume(object);
    const phase = status?.phase ?? "";
    return [
      metadata.name,
      String(spec?.capacity?.storage ?? ""),
      modesText(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? "",
      metadata.deletionTimestamp === undefined ? phase : "Terminating",
      spec?.claimRef ? `${spec.claimRef.namespace ?? ""}/${spec.claimRef.name ?? ""}` : "",
      spec?.storageClassName ?? metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? "",
      spec?.volumeAttributesClassName ?? unset,
      status?.reason ?? "",
      age(metadata.creationTimestamp, now),
      spec?.volumeMode ?? unset,
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = asVolume(object).spec as NonNullable<PersistentVolume["spec"]>;
    if (!spec.persistentVolumeReclaimPolicy) spec.persistentVolumeReclaimPolicy = "Retain";
    setDefault(spec, "volumeMode", "Filesystem");
    defaultSources(spec as unknown as Record<string, unknown>);
    // There are no classes of attributes here to name.
    delete spec.volumeAttributesClassName;
  },
  prepareCreate(object, { now }) {
    const lastPhaseTransitionTime = `${new Date(now).toISOString().slice(0, 19)}Z`;
    object.status = { phase: "Pending", lastPhaseTransitionTime };
  },
  warnings: (object) => warnOfVolume(asVolume(object)),
  validate(object, previous) {
    const spec = (object.spec ?? {}) as Record<string, unknown>;
    const errors = validateAccessModes(spec.accessModes as string[] | undefined, "spec.accessModes", "");
    const capacity = spec.capacity as Record<string, unknown> | undefined;
    if (!capacity || Object.keys(capacity).length === 0) errors.push(required("spec.capacity"));
    if (capacity?.storage === undefined || Object.keys(capacity).length > 1)
      errors.push(notSupported("spec.capacity", capacity ?? {}, ["storage"]));
    if (capacity?.storage !== undefined) errors.push(...validatePositive(capacity.storage, "spec.capacity[storage]"));
    if (!reclaimPolicies.includes(String(spec.persistentVolumeReclaimPolicy)))
      errors.push(
        notSupported("spec.persistentVolumeReclaimPolicy", spec.persistentVolumeReclaimPolicy, reclaimPolicies),
      );
    const { first, others } = otherSources(spec, volumeSources);
    if (first === undefined) errors.push(required("spec", "must specify a volume type"));
    for (const other of others)
      if (other !== "flexVolume") errors.push(forbidden(`spec.${other}`, "may not specify more than 1 volume type"));
    for (const name of new Set([first, "flexVolume"])) {
      const source = name && spec[name];
      if (source) validateDriverSource(name, source as Record<string, unknown>, "spec", { isPersistent: true, errors });
    }
    const { nodeAffinity, persistentVolumeReclaimPolicy } = spec;
    const only = { nodeAffinity, persistentVolumeReclaimPolicy, ...(first ? { [first]: spec[first] } : {}) };
    errors.push(...validateSource(only as NonNullable<PersistentVolume["spec"]>), ...validateClass(spec, "spec"));
    if (previous) {
      const before = (previous.spec ?? {}) as Record<string, unknown>;
      if (sourcesOf(before).some((source) => !deepEqual(before[source], spec[source])))
        errors.push(
          forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"),
        );
      if (before.volumeMode !== spec.volumeMode) errors.push(forbidden("spec.volumeMode", "field is immutable"));
    }
    return errors;
  },
};

/** The sources that this program's own plugins and drivers read. */
function validateSource(spec: NonNullable<PersistentVolume["spec"]>): FieldErrors {
  const { hostPath, local, csi, nfs, nodeAffinity, persistentVolumeReclaimPolicy } = spec;
  const errors: FieldErrors = [];
  for (const [name, source] of Object.entries({ hostPath, local })) {
    if (source && !source.path) errors.push(required(`spec.${name}.path`));
    else if (source) errors.push(...validateNoBacksteps(source.path, `spec.${name}.path`));
  }
  if (hostPath?.path && /^\/+$/.test(hostPath.path) && persistentVolumeReclaimPolicy === "Recycle")
    errors.push(forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"));
  if (local && !nodeAffinity) errors.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
  if (nodeAffinity && !nodeAffinity.required)
    errors.push(required("spec.nodeAffinity.required", "must specify required node constraints"));
  if (nodeAffinity?.required) validateNodeSelector(nodeAffinity.required, "spec.nodeAffinity.required", errors);
  if (hostPath?.type && !hostPathTypes.includes(hostPath.type))
    errors.push(notSupported("spec.hostPath.type", hostPath.type, hostPathTypes));
  if (csi) errors.push(...validateDriverName(csi.driver, "spec.csi.driver"));
  if (csi && !csi.volumeHandle) errors.push(required("spec.csi.volumeHandle"));
  for (const name of [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ] as const)
    validateSecretReference(csi?.[name], `spec.csi.${name}`, errors);
  for (const field of ["server", "path"] as const) if (nfs && !nfs[field]) errors.push(required(`spec.nfs.${field}`));
  if (nfs && !nfs.path?.startsWith("/"))
    errors.push(invalid("spec.nfs.path", nfs.path ?? "", "must be an absolute path"));
  return errors;
}

function sourcesOf(spec: Record<string, unknown>): string[] {
  return Object.keys(spec).filter((key) => !notSources.has(key) && spec[key] !== undefined && spec[key] !== null);
}

const oldClass = "volume.beta.kubernetes.io/storage-class";

export const persistentVolumeClaims: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "persistentvolumeclaims",
  singular: "persistentvolumeclaim",
  kind: "PersistentVolumeClaim",
  namespaced: true,
  shortNames: ["pvc"],
  hasStatus: true,
  answersDeleted: true,
  columns: [
    nameColumn,
    column("Status", "Whether it is bound."),
    column("Volume", "Which volume it is bound to."),
    column("Capacity", "How much that volume holds."),
    column("Access Modes", "How it may be mounted."),
    column("StorageClass", "Its storage class."),
    column("VolumeAttributesClass", "Its attributes class."),
    ageColumn,
    wideColumn("VolumeMode", "File system or raw block."),
  ],
  cells(object, now) {
    const { spec, status, metadata } = asClaim(object);
    const isBound = Boolean(spec?.volumeName);
    return [
      metadata.name,
      metadata.deletionTimestamp === undefined ? (status?.phase ?? "") : "Terminating",
      spec?.volumeName ?? "",
      isBound ? String(status?.capacity?.storage ?? "0") : "",
      isBound ? modesText(status?.accessModes) : "",
      spec?.storageClassName ?? metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? "",
      spec?.volumeAttributesClassName ?? unset,
      age(metadata.creationTimestamp, now),
      spec?.volumeMode ?? unset,
    ];
  },
  defaults(object) {
    object.spec ??= {};
    defaultClaimSpec(object.spec as Record<string, unknown>);
  },
  prepareCreate(object) {
    object.status = { phase: "Pending" };
    alignSources(object.spec as Record<string, unknown>);
  },
  warnings: (object) => [
    ...(object.metadata.annotations?.[oldClass] === undefined
      ? []
      : [`metadata.annotations[${oldClass}]: deprecated since v1.8; use "storageClassName" attribute instead`]),
    ...fractionalBytes(asClaim(object).spec?.resources, ["storage"], "spec"),
  ],
  validate(object, previous) {
    const spec = (object.spec ?? {}) as Record<string, unknown>;
    const errors: FieldErrors = validateClaimSpec(spec, "spec");
    if (!previous) return errors;
    const before = (previous.spec ?? {}) as Record<string, unknown>;
    const held: Record<string, unknown> = {
      ...spec,
      volumeName: before.volumeName,
      volumeAttributesClassName: before.volumeAttributesClassName,
    };
    const isBound = (previous.status as { phase?: string } | undefined)?.phase === "Bound";
    if (isBound) held.resources = before.resources;
    if (before.storageClassName === undefined) held.storageClassName = undefined;
    if (before.volumeName && spec.volumeName !== before.volumeName) held.volumeName = spec.volumeName;
    const wanted = (claim: KubeObject) => parseQuantity(asClaim(claim).spec?.resources?.requests?.storage ?? "0");
    const got = parseQuantity(asClaim(previous).status?.capacity?.storage ?? "0");
    // Asking for less takes a wish back; what was given stays.
    if (isBound && compareQuantity(wanted(object), wanted(previous)) < 0 && compareQuantity(wanted(object), got) <= 0)
      errors.push(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
    if (!deepEqual(held, before))
      errors.push(
        forbidden(
          "spec",
          "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ),
      );
    return errors;
  },
  validateStatus: (object) => validateClaimStatus(asClaim(object)),
};
