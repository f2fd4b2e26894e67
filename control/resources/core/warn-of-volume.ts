// Volumes that use what is going, or gone.

import type { PersistentVolume } from "../../../plugins/kit/kube/objects/types.ts";
import { warnOfTerms } from "../node-labels.ts";

const annotations: Readonly<Record<string, string>> = {
  "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
  "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
};

const sources: Readonly<Record<string, readonly [shown: string, said: string]>> = {
  cephfs: ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  photonPersistentDisk: ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  scaleIO: ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  storageos: ["storageOS", "deprecated in v1.22, non-functional in v1.25+"],
  glusterfs: ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  rbd: ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
};

const recycled =
  "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";

export function warnOfVolume({ metadata, spec }: PersistentVolume): string[] {
  if (!spec) return [];
  const told = Object.entries(annotations)
    .filter(([key]) => metadata.annotations?.[key] !== undefined)
    .map(([key, said]) => `metadata.annotations[${key}]: ${said}`);
  if (spec.persistentVolumeReclaimPolicy === "Recycle") told.push(`spec.persistentVolumeReclaimPolicy: ${recycled}`);
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  told.push(...warnOfTerms(terms, (index) => `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`));
  for (const [source, [shown, said]] of Object.entries(sources))
    if (Object.hasOwn(spec, source)) told.push(`spec.${shown}: ${said}`);
  return told;
}
