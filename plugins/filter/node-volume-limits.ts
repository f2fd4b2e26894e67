// NodeVolumeLimits: a CSI driver may say how many of its volumes a node can hold.

import type { PersistentVolume, PersistentVolumeClaim, Pod } from "../kit/kube/objects/types.ts";
import { claimsOf, classOf, type StorageClass } from "../kit/kube/objects/volume-claims.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ClusterView, type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";

const refusal = { reasons: ["node(s) exceed max volume count"], final: false };

interface CsiNode {
  readonly spec?: {
    readonly drivers?: readonly { readonly name: string; readonly allocatable?: { readonly count?: number } }[];
  };
}

interface State {
  readonly cluster: ClusterView;
  /** Unique volume to its driver. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly attached: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** The CSI volumes behind the pod's claims; one that is not made yet counts for the driver of its class. */
function csiVolumes(pod: Pod, cluster: ClusterView): Map<string, string> {
  const found = new Map<string, string>();
  const namespace = pod.metadata.namespace ?? "";
  for (const { name } of claimsOf(pod)) {
    const claim = cluster.get<PersistentVolumeClaim>("persistentvolumeclaims", namespace, name);
    if (!claim) continue;
    const volume = cluster.get<PersistentVolume>("persistentvolumes", "", claim.spec?.volumeName ?? "");
    const csi = volume?.spec?.csi;
    if (csi) found.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver);
    else if (!volume) {
      const driver = cluster.get<StorageClass>("storageclasses", "", classOf(claim))?.provisioner;
      if (driver) found.set(`${driver}/${namespace}/${name}`, driver);
    }
  }
  return found;
}

interface VolumeAttachment {
  readonly spec?: {
    readonly attacher?: string;
    readonly nodeName?: string;
    readonly source?: { readonly persistentVolumeName?: string };
  };
}

/** Volumes that are attached to each node, whether a pod uses them or not: one on its way out still takes a place. */
function attachedByNode(cluster: ClusterView): Map<string, Map<string, string>> {
  const byNode = new Map<string, Map<string, string>>();
  for (const { spec } of cluster.list<VolumeAttachment>("volumeattachments")) {
    const name = spec?.source?.persistentVolumeName;
    const csi = name ? cluster.get<PersistentVolume>("persistentvolumes", "", name)?.spec?.csi : undefined;
    if (!csi || !spec?.nodeName) continue;
    const there = byNode.get(spec.nodeName) ?? new Map<string, string>();
    byNode.set(spec.nodeName, there.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver));
  }
  return byNode;
}

const filter: FilterPlugin = {
  name: "NodeVolumeLimits",
  retryOn: ["CSINode/*", "Pod/Delete", "PersistentVolumeClaim/Add", "VolumeAttachment/Delete", "Node/Add"],
  prepare(pod, cluster) {
    if (claimsOf(pod).length === 0) return skip;
    const volumes = csiVolumes(pod, cluster);
    return volumes.size === 0 ? skip : ({ cluster, volumes, attached: attachedByNode(cluster) } satisfies State);
  },
  filter(_pod, node, prepared) {
    const { cluster, volumes, attached } = prepared as State;
    const drivers = cluster.get<CsiNode>("csinodes", "", node.name)?.spec?.drivers ?? [];
    const limits = new Map(drivers.map(({ name, allocatable }) => [name, allocatable?.count]));
    if (![...volumes.values()].some((driver) => limits.get(driver) !== undefined)) return undefined;
    const all = new Map([...(attached.get(node.name) ?? []), ...volumes]);
    for (const other of node.pods) for (const [id, driver] of csiVolumes(other, cluster)) all.set(id, driver);
    for (const driver of new Set(volumes.values())) {
      const limit = limits.get(driver);
      const count = [...all.values()].filter((each) => each === driver).length;
      if (limit !== undefined && count > limit) return refusal;
    }
    return undefined;
  },
};

export const nodeVolumeLimits: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "NodeVolumeLimits",
  open: () => filter,
};
