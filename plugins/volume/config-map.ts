// configMap: the keys of a config map as files, updated while the pod runs.

import type { Plugin } from "../kit/base/plugin.ts";
import { podObjectsKind } from "../kit/contracts/pod-objects.ts";
import { type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import { contentVolume, orAbsent } from "./content-volume.ts";
import { configMapData, selectKeys } from "./keyed-content.ts";

export const configMap: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "config-map",
  needs: [podObjectsKind],
  open(host) {
    return contentVolume({
      name: "kubernetes.io/configmap",
      inMemory: false,
      clock: host.clock,
      supports: (volume) => volume.configMap !== undefined,
      async content({ pod, volume }, call) {
        const source = volume.configMap ?? {};
        const [objects] = host.all(podObjectsKind);
        const look = objects?.configMap(pod.metadata.namespace ?? "", source.name ?? "", call);
        const found = look && (await orAbsent(source.optional, look));
        return selectKeys(configMapData(found), {
          items: source.items,
          defaultMode: source.defaultMode ?? 0o644,
          optional: source.optional ?? false,
          what: `configmap "${source.name}"`,
        });
      },
    });
  },
};
