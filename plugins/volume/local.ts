// local: a directory or block device of this node behind a persistent volume.

import { statSync } from "node:fs";
import { Fault } from "../kit/fault.ts";
import type { Plugin } from "../kit/plugin.ts";
import { type VolumePlugin, volumeKind } from "../kit/volume.ts";
import { applyGroup } from "./ownership.ts";

interface LocalSource {
  local?: { path: string };
}

const volume: VolumePlugin = {
  name: "kubernetes.io/local-volume",
  supports: (candidate) => (candidate as LocalSource).local !== undefined,
  async mount({ volume: source, fsGroup, fsGroupChangePolicy, readOnly }) {
    const path = (source as LocalSource).local?.path ?? "";
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) throw new Fault("unavailable", `Cannot use local volume: path "${path}" does not exist on this node`);
    if (!readOnly && found.isDirectory()) {
      applyGroup(path, fsGroup, fsGroupChangePolicy ? { policy: fsGroupChangePolicy } : {});
    }
  },
  unmount: async () => {},
  hostPath: ({ volume: source }) => (source as LocalSource).local?.path ?? "",
};

export const local: Plugin<VolumePlugin> = { kind: volumeKind, name: "local", open: () => volume };
