// Which volumes a pod's claims have, or would have on a node: those bound, those that can be bound there, those to be made. Pure.

import { type ClusterView, Rejection, skip } from "../contracts/scheduling.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../kube/objects/types.ts";
import {
  volumeAnnotations as annotations,
  bestVolume,
  claimsOf,
  classOf,
  isFullyBound,
  isReachable,
  isTopologyAllowed,
  isWaiting,
  noProvisioner,
  type StorageClass,
} from "../kube/objects/volume-claims.ts";

export interface PodClaims {
  readonly bound: readonly (PersistentVolume | undefined)[];
  readonly waiting: readonly { readonly claim: PersistentVolumeClaim; readonly storageClass: StorageClass }[];
  readonly volumes: readonly PersistentVolume[];
}

/** `skip` for a pod without claims; a Rejection, in upstream's words, where no node will do. */
export function podClaims(pod: Pod, cluster: Pick<ClusterView, "list" | "get">): PodClaims | Rejection | typeof skip {
  const names = claimsOf(pod);
  if (names.length === 0) return skip;
  const namespace = pod.metadata.namespace ?? "";
  const bound: (PersistentVolume | undefined)[] = [];
  const waiting: { claim: PersistentVolumeClaim; storageClass: StorageClass }[] = [];
  for (const { name, isEphemeral } of names) {
    const claim = cluster.get<PersistentVolumeClaim>("persistentvolumeclaims", namespace, name);
    const refusal = unusable(pod, name, isEphemeral, claim);
    if (refusal || !claim) return new Rejection(refusal ?? "");
    if (isFullyBound(claim)) {
      bound.push(cluster.get<PersistentVolume>("persistentvolumes", "", claim.spec?.volumeName ?? ""));
      continue;
    }
    const storageClass = cluster.get<StorageClass>("storageclasses", "", classOf(claim));
    if (claim.spec?.volumeName || !storageClass || !isWaiting(storageClass))
      return new Rejection("pod has unbound immediate PersistentVolumeClaims");
    waiting.push({ claim, storageClass });
  }
  return {
    bound,
    waiting,
    volumes: waiting.length > 0 ? cluster.list<PersistentVolume>("persistentvolumes") : [],
  };
}

function unusable(
  pod: Pod,
  name: string,
  isEphemeral: boolean,
  claim: PersistentVolumeClaim | undefined,
): string | undefined {
  if (!claim) {
    return isEphemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
      : `persistentvolumeclaim "${name}" not found`;
  }
  if (claim.status?.phase === "Lost")
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`;
  if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`;
  const isOwn = claim.metadata.ownerReferences?.some(({ controller, uid }) => controller && uid === pod.metadata.uid);
  if (isEphemeral && !isOwn) {
    const { namespace } = pod.metadata;
    return `PVC "${namespace}/${name}" was not created for pod "${namespace}/${pod.metadata.name}" (pod is not owner)`;
  }
  return undefined;
}

/** The volume for each waiting claim on this node, undefined where one is to be made; or why there is no way. */
export function chooseVolumes(
  { waiting, volumes }: PodClaims,
  node: Node,
  hasRoom: (claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node) => boolean,
): (PersistentVolume | undefined)[] | "none" | "full" {
  const chosen: (PersistentVolume | undefined)[] = [];
  for (const { claim, storageClass } of waiting) {
    const selected = claim.metadata.annotations?.[annotations.selectedNode];
    if (selected !== undefined && selected !== node.metadata.name) return "none";
    const volume = bestVolume(claim, volumes, (each) => isReachable(each, node) && !chosen.includes(each));
    const canMake = storageClass.provisioner !== noProvisioner && isTopologyAllowed(storageClass, node);
    if (!volume && !canMake) return "none";
    if (!volume && !hasRoom(claim, storageClass, node)) return "full";
    chosen.push(volume);
  }
  return chosen;
}
