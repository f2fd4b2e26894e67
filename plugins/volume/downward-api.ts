// downwardAPI: the pod's own labels, annotations and resources as files, updated when they change.

import type { Plugin } from "../kit/base/plugin.ts";
import { podObjectsKind } from "../kit/contracts/pod-objects.ts";
import { type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import { contentVolume } from "./content-volume.ts";
import { type DownwardItem, downwardContent } from "./downward-content.ts";

export const downwardApi: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "downward-api",
  needs: [podObjectsKind],
  open(host) {
    return contentVolume({
      name: "kubernetes.io/downward-api",
      inMemory: true,
      clock: host.clock,
      supports: (volume) => volume.downwardAPI !== undefined,
      async content({ pod, volume }) {
        const source = volume.downwardAPI;
        const items = (source?.items ?? []) as DownwardItem[];
        return downwardContent(pod, items, source?.defaultMode ?? 0o644, host.all(podObjectsKind)[0]);
      },
    });
  },
};
