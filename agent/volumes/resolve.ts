// From a volume of the pod to the volume that a plugin mounts: claims (also ephemeral ones) become the persistent volume behind them.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { PersistentVolume, PersistentVolumeClaim, Volume } from "../../plugins/kit/kube/objects/types.ts";
import type { PodObjects } from "../../plugins/kit/contracts/pod-objects.ts";
import { type AgentPod, podName } from "../model/agent-pod.ts";

export interface ResolvedVolume {
  readonly volume: Volume;
  readonly persistentVolume?: PersistentVolume;
  readonly claimName?: string;
  readonly readOnly: boolean;
  readonly isBlock: boolean;
}

export async function resolveVolume(
  pod: AgentPod,
  volume: Volume,
  objects: PodObjects,
  call: Call,
): Promise<ResolvedVolume> {
  const claimName =
    volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined);
  if (claimName === undefined) return { volume, readOnly: false, isBlock: false };
  const claim = await objects.persistentVolumeClaim(pod.metadata.namespace, claimName, call);
  checkClaim(pod, volume, claim);
  const persistentVolume = await objects.persistentVolume(claim.spec?.volumeName ?? "", call);
  if (persistentVolume.spec?.claimRef?.uid !== claim.metadata.uid) {
    throw new Fault(
      "unavailable",
      `Cannot use claim "${claimName}": volume "${persistentVolume.metadata.name}" is bound to another claim`,
    );
  }
  return {
    volume: volumeFrom(persistentVolume, volume.name),
    persistentVolume,
    claimName,
    readOnly: volume.persistentVolumeClaim?.readOnly ?? false,
    isBlock: persistentVolume.spec?.volumeMode === "Block",
  };
}

function checkClaim(pod: AgentPod, volume: Volume, claim: PersistentVolumeClaim): void {
  const name = claim.metadata.name;
  if (claim.metadata.deletionTimestamp)
    throw new Fault("unavailable", `Cannot use claim "${name}": it is being deleted`);
  const owner = claim.metadata.ownerReferences?.find((reference) => reference.controller);
  if (volume.ephemeral && owner?.uid !== pod.metadata.uid) {
    throw new Fault(
      "conflict",
      `PVC "${pod.metadata.namespace}/${name}" was not created for pod "${podName(pod)}" (pod is not owner)`,
    );
  }
  if (claim.status?.phase !== "Bound" || !claim.spec?.volumeName)
    throw new Fault("unavailable", `Cannot use claim "${name}": it is not bound`);
}

const notSources = new Set([
  "accessModes",
  "capacity",
  "claimRef",
  "mountOptions",
  "nodeAffinity",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "volumeAttributesClassName",
  "volumeMode",
]);

/** The persistent volume as a volume of a pod: the one field of its spec that says what it is. */
export function volumeFrom(persistentVolume: PersistentVolume, name: string): Volume {
  const source = Object.entries(persistentVolume.spec ?? {}).filter(([field]) => !notSources.has(field));
  return { ...Object.fromEntries(source), name } as Volume;
}
