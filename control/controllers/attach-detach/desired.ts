// Which volumes should be attached to a node, and what keeps one there: pure questions about pods, claims, volumes and nodes.

import { createHash } from "node:crypto";
import type {
  Node,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
} from "../../../plugins/kit/kube/objects/types.ts";
import { claimsOf } from "../../../plugins/kit/kube/objects/volume-claims.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";

export interface VolumeAttachment {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly attacher: string;
    readonly nodeName: string;
    readonly source: { readonly persistentVolumeName?: string };
  };
  readonly status?: {
    readonly attached?: boolean;
    readonly attachError?: { readonly message?: string; readonly time?: string };
    readonly detachError?: { readonly message?: string; readonly time?: string };
  };
}

export interface CsiDriver {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly attachRequired?: boolean };
}

/** A volume that pods of one node need attached there. */
export interface Wanted {
  readonly volume: PersistentVolume;
  readonly pods: readonly Pod[];
}

export interface Lookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  driver(name: string): CsiDriver | undefined;
}

const outOfService = "node.kubernetes.io/out-of-service";
const managed = "volumes.kubernetes.io/controller-managed-attach-detach";

/** The name that the node's agent looks the attachment up by: made of volume, driver and node, as kubelets expect it. */
export function attachmentName(volume: PersistentVolume, nodeName: string): string {
  const { driver = "", volumeHandle = "" } = volume.spec?.csi ?? {};
  return `csi-${createHash("sha256").update(`${volumeHandle}${driver}${nodeName}`).digest("hex")}`;
}

/** Attachments of other names were made by somebody else, who also takes them away. */
export function isNamedByUs({ metadata }: VolumeAttachment): boolean {
  return /^csi-[0-9a-f]{64}$/.test(metadata.name ?? "");
}

/** The name of the volume in `status.volumesAttached` and `status.volumesInUse` of nodes. */
export function uniqueName(volume: PersistentVolume): string {
  const { driver = "", volumeHandle = "" } = volume.spec?.csi ?? {};
  return `kubernetes.io/csi/${driver}^${volumeHandle}`;
}

/** A pod that ended, or is on its way out with nothing running, needs no volume any more. */
function needsVolumes(pod: Pod): boolean {
  if (isTerminal(pod)) return false;
  if (!pod.metadata.deletionTimestamp) return true;
  return !(pod.status?.containerStatuses ?? []).every(({ state }) => state?.terminated || state?.waiting);
}

/** The volume behind a claim of the pod, when it is bound and its driver attaches. */
function attachable(pod: Pod, claimName: string, lookup: Lookup): PersistentVolume | undefined {
  const claim = lookup.claim(pod.metadata.namespace ?? "", claimName);
  const volume = lookup.volume(claim?.spec?.volumeName ?? "");
  if (!claim || !volume?.spec?.csi || volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined;
  // A driver that did not register itself is attached all the same.
  return lookup.driver(volume.spec.csi.driver)?.spec?.attachRequired === false ? undefined : volume;
}

/** By name of the volume. */
export function wantedOn(pods: readonly Pod[], lookup: Lookup): Map<string, Wanted> {
  const found = new Map<string, { volume: PersistentVolume; pods: Pod[] }>();
  for (const pod of pods.filter(needsVolumes)) {
    for (const { name } of claimsOf(pod)) {
      const volume = attachable(pod, name, lookup);
      if (!volume) continue;
      const key = volume.metadata.name ?? "";
      const known = found.get(key);
      if (known) known.pods.push(pod);
      else found.set(key, { volume, pods: [pod] });
    }
  }
  return found;
}

/** May be attached to several nodes at once. */
export function isShared(volume: PersistentVolume): boolean {
  return (volume.spec?.accessModes ?? []).some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany");
}

export const isManaged = (node: Node): boolean => node.metadata.annotations?.[managed] === "true";

export const isOutOfService = (node: Node): boolean =>
  node.spec?.taints?.some(({ key }) => key === outOfService) ?? false;

export const isHealthy = (node: Node): boolean =>
  node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
