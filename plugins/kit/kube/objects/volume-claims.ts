// Claims and volumes: which volume would do for a claim, what the annotations on both mean, and which claims a pod has. Pure.

import { compareQuantity, parseQuantity } from "../quantity.ts";
import { labelSelectorOf } from "../selector.ts";
import { matchesNodeSelectorTerm, type NodeSelectorTerm } from "./node-affinity.ts";
import type { Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod } from "./types.ts";

export interface StorageClass {
  readonly metadata: ObjectMeta;
  readonly provisioner: string;
  readonly reclaimPolicy?: "Delete" | "Retain";
  readonly volumeBindingMode?: "Immediate" | "WaitForFirstConsumer";
  readonly mountOptions?: string[];
  readonly allowVolumeExpansion?: boolean;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
  }[];
}

export const volumeAnnotations = {
  selectedNode: "volume.kubernetes.io/selected-node",
  bindCompleted: "pv.kubernetes.io/bind-completed",
  boundByController: "pv.kubernetes.io/bound-by-controller",
  provisionedBy: "pv.kubernetes.io/provisioned-by",
  storageProvisioner: "volume.kubernetes.io/storage-provisioner",
  /** Provisioners of old look for this one. */
  oldStorageProvisioner: "volume.beta.kubernetes.io/storage-provisioner",
  oldClass: "volume.beta.kubernetes.io/storage-class",
} as const;

/** The provisioner of classes whose volumes people make by hand. */
export const noProvisioner = "kubernetes.io/no-provisioner";

export function classOf(object: PersistentVolume | PersistentVolumeClaim): string {
  return object.metadata.annotations?.[volumeAnnotations.oldClass] ?? object.spec?.storageClassName ?? "";
}

export function isWaiting(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === "WaitForFirstConsumer";
}

export function isFullyBound(claim: PersistentVolumeClaim): boolean {
  return Boolean(claim.spec?.volumeName) && claim.metadata.annotations?.[volumeAnnotations.bindCompleted] !== undefined;
}

/** The volume names this claim: by name, and by uid where it says one. */
export function isReservedFor(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const reference = volume.spec?.claimRef;
  return (
    reference !== undefined &&
    reference.namespace === claim.metadata.namespace &&
    reference.name === claim.metadata.name &&
    (!reference.uid || reference.uid === claim.metadata.uid)
  );
}

/** Why the volume cannot be had by the claim; undefined when it can. Whether somebody else has it is not asked here. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const wanted = claim.spec?.resources?.requests?.storage;
  const held = volume.spec?.capacity?.storage;
  if (wanted !== undefined && (held === undefined || isLess(held, wanted))) return "requested PV is too small";
  if (classOf(volume) !== classOf(claim)) return "storageClassName does not match";
  if ((volume.spec?.volumeMode ?? "Filesystem") !== (claim.spec?.volumeMode ?? "Filesystem"))
    return "incompatible volumeMode";
  const modes = volume.spec?.accessModes ?? [];
  if (!(claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode))) return "incompatible accessMode";
  return undefined;
}

/** The smallest free volume that would do; one that is already kept for the claim comes before all. */
export function bestVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  isAllowed: (volume: PersistentVolume) => boolean = () => true,
): PersistentVolume | undefined {
  const selector = claim.spec?.selector ? labelSelectorOf(claim.spec.selector) : undefined;
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (volume.metadata.deletionTimestamp || mismatch(volume, claim) || !isAllowed(volume)) continue;
    if (isReservedFor(volume, claim)) return volume;
    if (volume.spec?.claimRef || volume.status?.phase !== "Available") continue;
    if (selector && !selector.matches(volume.metadata.labels)) continue;
    if (!best || isLess(sizeOf(volume), sizeOf(best))) best = volume;
  }
  return best;
}

export function isReachable(volume: PersistentVolume, node: Node): boolean {
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms as readonly NodeSelectorTerm[] | undefined;
  return !terms || terms.some((term) => matchesNodeSelectorTerm(term, node));
}

/** Whether the class lets volumes be made for this node. */
export function isTopologyAllowed(storageClass: StorageClass, node: Node): boolean {
  const terms = storageClass.allowedTopologies ?? [];
  if (terms.length === 0) return true;
  return terms.some((term) =>
    (term.matchLabelExpressions ?? []).every(({ key, values }) => values.includes(node.metadata.labels?.[key] ?? "")),
  );
}

/** Names of the pod's claims, those of its generic ephemeral volumes too. */
export function claimsOf(pod: Pod): { readonly name: string; readonly isEphemeral: boolean }[] {
  const found: { name: string; isEphemeral: boolean }[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    if (volume.persistentVolumeClaim) found.push({ name: volume.persistentVolumeClaim.claimName, isEphemeral: false });
    else if (volume.ephemeral) found.push({ name: `${pod.metadata.name}-${volume.name}`, isEphemeral: true });
  }
  return found;
}

const sizeOf = (volume: PersistentVolume) => volume.spec?.capacity?.storage ?? "0";

function isLess(a: string | number, b: string | number): boolean {
  return compareQuantity(parseQuantity(a), parseQuantity(b)) < 0;
}
