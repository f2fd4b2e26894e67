// secret: the keys of a secret as files in memory, updated while the pod runs.

import type { Plugin } from "../kit/base/plugin.ts";
import { podObjectsKind } from "../kit/contracts/pod-objects.ts";
import { type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import { contentVolume, orAbsent } from "./content-volume.ts";
import { secretData, selectKeys } from "./keyed-content.ts";

export const secret: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "secret",
  needs: [podObjectsKind],
  open(host) {
    return contentVolume({
      name: "kubernetes.io/secret",
      inMemory: true,
      clock: host.clock,
      supports: (volume) => volume.secret !== undefined,
      async content({ pod, volume }, call) {
        const source = volume.secret ?? {};
        const [objects] = host.all(podObjectsKind);
        const look = objects?.secret(pod.metadata.namespace ?? "", source.secretName ?? "", call);
        const found = look && (await orAbsent(source.optional, look));
        return selectKeys(secretData(found), {
          items: source.items,
          defaultMode: source.defaultMode ?? 0o644,
          optional: source.optional ?? false,
          what: `secret "${source.secretName}"`,
        });
      },
    });
  },
};
