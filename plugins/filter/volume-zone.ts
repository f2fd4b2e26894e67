// VolumeZone: a volume with zone or region labels can be used on nodes of that zone or region alone.

import type { PersistentVolume, PersistentVolumeClaim } from "../kit/kube/objects/types.ts";
import { claimsOf } from "../kit/kube/objects/volume-claims.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";

const refusal = { reasons: ["node(s) had no available volume zone"], final: true };

/** Old and new names of one label mean the same. */
const topologyLabels: readonly (readonly string[])[] = [
  ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"],
  ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"],
];

interface Wanted {
  readonly names: readonly string[];
  readonly values: ReadonlySet<string>;
}

function wantedBy(volume: PersistentVolume | undefined): Wanted[] {
  return topologyLabels.flatMap((names) =>
    names.flatMap((name) => {
      const value = volume?.metadata.labels?.[name];
      return value === undefined ? [] : [{ names, values: new Set(value.split("__")) }];
    }),
  );
}

const filter: FilterPlugin = {
  name: "VolumeZone",
  retryOn: ["PersistentVolumeClaim/*", "PersistentVolume/*", "StorageClass/Add", "Node/Add", "Node/Update"],
  prepare(pod, cluster) {
    const wanted = claimsOf(pod).flatMap(({ name }) => {
      const namespace = pod.metadata.namespace ?? "";
      const claim = cluster.get<PersistentVolumeClaim>("persistentvolumeclaims", namespace, name);
      return claim?.spec?.volumeName
        ? wantedBy(cluster.get<PersistentVolume>("persistentvolumes", "", claim.spec.volumeName))
        : [];
    });
    return wanted.length === 0 ? skip : wanted;
  },
  filter(_pod, { node }, prepared) {
    const labels = node.metadata.labels ?? {};
    // A cluster without zones has no wrong ones.
    if (!topologyLabels.flat().some((name) => labels[name] !== undefined)) return undefined;
    const fits = (prepared as Wanted[]).every(({ names, values }) =>
      names.some((name) => values.has(labels[name] ?? "")),
    );
    return fits ? undefined : refusal;
  },
};

export const volumeZone: Plugin<FilterPlugin> = { kind: filterKind, name: "VolumeZone", open: () => filter };
