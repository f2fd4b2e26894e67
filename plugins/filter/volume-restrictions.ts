// VolumeRestrictions (NoDiskConflict): some disks can be used by one pod of a node alone, and some claims by one pod of all.

import type { PersistentVolumeClaim, Pod, Volume } from "../kit/kube/objects/types.ts";
import { claimsOf } from "../kit/kube/objects/volume-claims.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";

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
  readonly pod: Pod;
  readonly disks: readonly Disk[];
  /** Names of claims that one pod alone may use, on whatever node. */
  readonly single: readonly string[];
  /** How many pods use one of them. */
  holders: number;
}

const holds = (other: Pod, pod: Pod, single: readonly string[]): boolean =>
  single.length > 0 &&
  other.metadata.namespace === pod.metadata.namespace &&
  claimsOf(other).some(({ name }) => single.includes(name));

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
    const pods = single.length === 0 ? [] : cluster.nodes.flatMap((node) => node.pods);
    const holders = pods.filter((other) => holds(other, pod, single)).length;
    return disks.length === 0 && holders === 0 ? skip : ({ pod, disks, single, holders } satisfies State);
  },
  filter(_pod, node, prepared) {
    const { disks, holders } = prepared as State;
    for (const other of disks.length > 0 ? node.pods : []) {
      const theirs = podDisks(other);
      const isTaken = disks.some((disk) =>
        theirs.some(({ id, readOnly }) => id === disk.id && !(disk.sharesReading && disk.readOnly && readOnly)),
      );
      if (isTaken) return diskTaken;
    }
    return holders > 0 ? claimTaken : undefined;
  },
  changed(prepared, _node, other, change) {
    const state = prepared as State;
    if (holds(other, state.pod, state.single)) state.holders += change === "added" ? 1 : -1;
  },
  copy: (prepared) => ({ ...(prepared as State) }),
};

export const volumeRestrictions: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "VolumeRestrictions",
  open: () => filter,
};
