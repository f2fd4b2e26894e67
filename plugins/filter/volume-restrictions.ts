// VolumeRestrictions (NoDiskConflict): some disks can be used by one pod of a node alone, and some claims by one pod of all.

import type { PersistentVolumeClaim, Pod, Volume } from "../kit/objects/types.ts";
import { claimsOf } from "../kit/objects/volume-claims.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/scheduling.ts";

const diskTaken = { reasons: ["node(s) had no available disk"], final: false };
const claimTaken = {
  reasons: ["node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"],
  final: false,
};

interface Disk {
  readonly id: string;
  /** Several may share the disk when all of them only read. */
  readonly sharesReading: boolean;
  readonly readOnly: boolean;
}

function disksOf(volume: Volume): Disk[] {
  const { gcePersistentDisk, awsElasticBlockStore, iscsi, rbd } = volume;
  if (gcePersistentDisk) {
    const { pdName, readOnly = false } = gcePersistentDisk;
    return [{ id: `gce/${pdName}`, sharesReading: true, readOnly }];
  }
  if (awsElasticBlockStore)
    return [{ id: `aws/${awsElasticBlockStore.volumeID}`, sharesReading: false, readOnly: false }];
  if (iscsi) return [{ id: `iscsi/${iscsi.iqn}`, sharesReading: true, readOnly: iscsi.readOnly ?? false }];
  if (rbd) {
    const { monitors, pool = "rbd", image, readOnly = false } = rbd;
    return monitors.map((monitor) => ({ id: `rbd/${monitor}/${pool}/${image}`, sharesReading: true, readOnly }));
  }
  return [];
}

const podDisks = (pod: Pod) => (pod.spec?.volumes ?? []).flatMap(disksOf);

interface State {
  readonly disks: readonly Disk[];
  /** Names of claims that one pod alone may use. */
  readonly single: readonly string[];
}

const filter: FilterPlugin = {
  name: "VolumeRestrictions",
  retryOn: ["Pod/Delete", "Pod/Update", "PersistentVolumeClaim/Add", "PersistentVolumeClaim/Update", "Node/Add"],
  prepare(pod, cluster) {
    if (!pod.spec?.volumes?.length) return skip;
    const namespace = pod.metadata.namespace ?? "";
    const single = claimsOf(pod)
      .map(({ name }) => name)
      .filter((name) =>
        cluster
          .get<PersistentVolumeClaim>("persistentvolumeclaims", namespace, name)
          ?.spec?.accessModes?.includes("ReadWriteOncePod"),
      );
    const disks = podDisks(pod);
    return disks.length === 0 && single.length === 0 ? skip : ({ disks, single } satisfies State);
  },
  filter(pod, node, prepared) {
    const { disks, single } = prepared as State;
    for (const other of node.pods) {
      if (!other.spec?.volumes?.length) continue;
      const theirs = disks.length > 0 ? podDisks(other) : [];
      const isTaken = disks.some((disk) =>
        theirs.some(({ id, readOnly }) => id === disk.id && !(disk.sharesReading && disk.readOnly && readOnly)),
      );
      if (isTaken) return diskTaken;
      const isSame = other.metadata.namespace === pod.metadata.namespace;
      if (isSame && single.length > 0 && claimsOf(other).some(({ name }) => single.includes(name))) return claimTaken;
    }
    return undefined;
  },
};

export const volumeRestrictions: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "VolumeRestrictions",
  open: () => filter,
};
