// The sources of volumes: the order in which upstream looks at them, what it calls them in errors, and what it fills in.

export const podSources = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
] as const;

export const volumeSources = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
] as const;

/** What upstream calls a source that is one too many. */
const misnomers: Readonly<Record<string, string>> = { cephfs: "cephFS", downwardAPI: "downwarAPI" };

/** Only the first is looked into; the others are one too many. */
export function otherSources(
  spec: Readonly<Record<string, unknown>>,
  order: readonly string[],
): { first: string | undefined; others: string[] } {
  const [first, ...others] = order.filter((name) => spec[name] !== undefined && spec[name] !== null);
  return { first, others: others.map((name) => misnomers[name] ?? name) };
}

/** Where upstream says that something is wrong inside a source. */
export const shownSource = (name: string): string => (name === "gcePersistentDisk" ? "persistentDisk" : name);

const filled: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  azureDisk: { cachingMode: "ReadWrite", kind: "Shared", fsType: "ext4", readOnly: false },
  hostPath: { type: "" },
  iscsi: { iscsiInterface: "default" },
  rbd: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" },
  scaleIO: { storageMode: "ThinProvisioned", fsType: "xfs" },
};

export function defaultSources(spec: Record<string, unknown>): void {
  for (const [name, fields] of Object.entries(filled)) {
    const source = spec[name] as Record<string, unknown> | null | undefined;
    if (source) for (const [field, value] of Object.entries(fields)) source[field] ??= value;
  }
}
