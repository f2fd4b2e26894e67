// What a pod refers to by name and its node must therefore read. Pure; answers are kept with the pod object.

import type { Container, PersistentVolume, Pod, Volume } from "../../../plugins/kit/kube/objects/types.ts";

export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  readonly resourceClaims: ReadonlySet<string>;
  readonly serviceAccount: string;
}

const remembered = new WeakMap<Pod, PodReferences>();
const nothing: PodReferences = {
  secrets: new Set(),
  configMaps: new Set(),
  claims: new Set(),
  resourceClaims: new Set(),
  serviceAccount: "",
};

/** Names of objects in the pod's namespace. A mirror pod refers to nothing: its node made it. */
export function podReferences(pod: Pod): PodReferences {
  let found = remembered.get(pod);
  if (!found) {
    found = pod.metadata.annotations?.["kubernetes.io/config.mirror"] === undefined ? collect(pod) : nothing;
    remembered.set(pod, found);
  }
  return found;
}

function collect(pod: Pod): PodReferences {
  const secrets = new Set<string>();
  const configMaps = new Set<string>();
  const claims = new Set<string>();
  const add = (set: Set<string>, name: string | undefined) => name && set.add(name);
  const spec = pod.spec;
  for (const each of spec?.imagePullSecrets ?? []) add(secrets, each.name);
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...((spec?.ephemeralContainers ?? []) as unknown as Container[]),
  ];
  for (const container of containers) {
    for (const { secretRef, configMapRef } of container.envFrom ?? []) {
      add(secrets, secretRef?.name);
      add(configMaps, configMapRef?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      add(secrets, valueFrom?.secretKeyRef?.name);
      add(configMaps, valueFrom?.configMapKeyRef?.name);
    }
  }
  for (const volume of spec?.volumes ?? []) {
    for (const name of volumeSecrets(volume)) add(secrets, name);
    add(configMaps, volume.configMap?.name);
    for (const source of volume.projected?.sources ?? []) {
      add(secrets, source.secret?.name);
      add(configMaps, source.configMap?.name);
    }
    add(claims, volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral) claims.add(`${pod.metadata.name}-${volume.name}`);
  }
  const resourceClaims = new Set<string>();
  const made = new Map((pod.status?.resourceClaimStatuses ?? []).map((each) => [each.name, each.resourceClaimName]));
  for (const claim of spec?.resourceClaims ?? []) add(resourceClaims, claim.resourceClaimName ?? made.get(claim.name));
  add(resourceClaims, pod.status?.extendedResourceClaimStatus?.resourceClaimName);
  return { secrets, configMaps, claims, resourceClaims, serviceAccount: spec?.serviceAccountName ?? "" };
}

function volumeSecrets(volume: Volume): (string | undefined)[] {
  return [
    volume.secret?.secretName,
    volume.azureFile?.secretName,
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef?.name,
    volume.storageos?.secretRef?.name,
  ];
}

/** `namespace/name` of every secret that a node needs to mount the volume; without a namespace of its own, the claim's. */
export function volumeSecretKeys(volume: PersistentVolume): string[] {
  const spec = volume.spec;
  const claimNamespace = spec?.claimRef?.namespace ?? "";
  const references = [
    spec?.csi?.nodePublishSecretRef,
    spec?.csi?.nodeStageSecretRef,
    spec?.csi?.nodeExpandSecretRef,
    spec?.cephfs?.secretRef,
    spec?.cinder?.secretRef,
    spec?.flexVolume?.secretRef,
    spec?.iscsi?.secretRef,
    spec?.rbd?.secretRef,
    spec?.scaleIO?.secretRef,
    spec?.azureFile && { name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace },
  ];
  return references.flatMap((each) => (each?.name ? [`${each.namespace || claimNamespace}/${each.name}`] : []));
}
