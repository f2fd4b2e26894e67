// Which API objects a pod names, for pods that may name none. A volume source that is not known here is refused.

import type { Container, Pod } from "../../kit/kube/objects/types.ts";

/** Sources that read nothing from the API server, unless they have a `secretRef`, which is looked for before. */
const harmless = new Set([
  "awsElasticBlockStore",
  "azureDisk",
  "cephfs",
  "cinder",
  "downwardAPI",
  "emptyDir",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "hostPath",
  "image",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
]);
const referring: Readonly<Record<string, string>> = {
  configMap: "configmaps (via configmap volumes)",
  csi: "csidrivers (via CSI volumes)",
  glusterfs: "endpoints (via glusterFS volumes)",
  persistentVolumeClaim: "persistentvolumeclaims",
  ephemeral: "persistentvolumeclaims (via ephemeral volumes)",
  azureFile: "secrets (via azureFile volumes)",
  secret: "secrets (via secret volumes)",
};
const projected: Readonly<Record<string, string>> = {
  configMap: "configmaps (via projected volumes)",
  secret: "secrets (via projected volumes)",
  serviceAccountToken: "serviceaccounts (via projected volumes)",
  clusterTrustBundle: "clustertrustbundles",
  podCertificate: "podcertificates",
};

type Fields = Readonly<Record<string, unknown>>;
const setFields = (of: Fields) => Object.keys(of).filter((key) => of[key] !== undefined && of[key] !== null);

function environmentOf({ spec }: Pod) {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...((spec?.ephemeralContainers ?? []) as unknown as Container[]),
  ];
  return {
    env: containers.flatMap((container) => container.env ?? []).map(({ valueFrom }) => valueFrom),
    envFrom: containers.flatMap((container) => container.envFrom ?? []),
  };
}

/** True when any field names a Secret. */
export function refersToSecrets(pod: Pod): boolean {
  const { env, envFrom } = environmentOf(pod);
  const { imagePullSecrets, volumes } = pod.spec ?? {};
  if (imagePullSecrets?.some(({ name }) => name)) return true;
  if (env.some((from) => from?.secretKeyRef) || envFrom.some(({ secretRef }) => secretRef)) return true;
  return (volumes ?? []).some(({ name: _name, ...sources }) =>
    Object.entries(sources as Record<string, Fields | null | undefined>).some(
      ([kind, source]) =>
        kind === "secret" ||
        source?.["secretRef"] ||
        source?.["secretName"] ||
        source?.["nodePublishSecretRef"] ||
        (source?.["sources"] as Fields[] | undefined)?.some((each) => each["secret"]),
    ),
  );
}

/** What the pod refers to, in upstream's words; undefined when it is nothing. */
export function apiObjectReference(pod: Pod): string | undefined {
  const { spec } = pod;
  if (spec?.serviceAccountName || spec?.serviceAccount) return "serviceaccounts";
  if (refersToSecrets(pod)) return "secrets";
  const { env, envFrom } = environmentOf(pod);
  if (env.some((from) => from?.configMapKeyRef) || envFrom.some(({ configMapRef }) => configMapRef))
    return "configmaps";
  if (spec?.resourceClaims?.length) return "resourceclaims";
  for (const { name, ...source } of spec?.volumes ?? []) {
    const found = volumeReference(name ?? "", source as Fields);
    if (found) return found;
  }
  return undefined;
}

function volumeReference(name: string, source: Fields): string | undefined {
  const kinds = setFields(source);
  if (kinds.length === 0) return `an unknown volume type (volume ${JSON.stringify(name)})`;
  for (const kind of kinds) {
    if (kind === "projected") {
      const found = projectedReference(name, source[kind] as { sources?: Fields[] });
      if (found) return found;
    } else if (Object.hasOwn(referring, kind)) return referring[kind];
    else if (!harmless.has(kind)) return `an unknown volume type (volume ${JSON.stringify(name)})`;
  }
  return undefined;
}

function projectedReference(name: string, { sources }: { sources?: Fields[] }): string | undefined {
  for (const source of sources ?? []) {
    const kinds = setFields(source);
    const found = kinds.find((kind) => Object.hasOwn(projected, kind));
    if (found) return projected[found];
    if (kinds.length === 0 || kinds.some((kind) => kind !== "downwardAPI"))
      return `an unknown source of projected volume ${JSON.stringify(name)}`;
  }
  return undefined;
}
