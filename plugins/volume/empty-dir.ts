// emptyDir: a directory that lives as long as the pod, on disk, in memory or in huge pages.

import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import type { Plugin } from "../kit/plugin.ts";
import { isLocalMountPoint, mount, mountFlags } from "../kit/platform/mount.ts";
import { parseQuantity, quantityValue } from "../kit/quantity.ts";
import { type VolumePlugin, volumeKind } from "../kit/volume.ts";
import { applyGroup } from "./ownership.ts";
import { mountTmpfs, removeVolume } from "./tmpfs.ts";

const volume: VolumePlugin = {
  name: "kubernetes.io/empty-dir",
  supports: (candidate) => candidate.emptyDir !== undefined,
  async mount({ volume: { emptyDir }, path, fsGroup, rootId }) {
    const medium = emptyDir?.medium ?? "";
    if (medium === "Memory") {
      const limit = emptyDir?.sizeLimit;
      const sizeBytes = limit === undefined ? undefined : quantityValue(parseQuantity(limit));
      mountTmpfs(path, { mode: 0o1777, ...(sizeBytes ? { sizeBytes } : {}) });
    } else if (medium.startsWith("HugePages")) {
      mkdirSync(path, { recursive: true });
      const [, size] = medium.split("-");
      const pageSize = size ? `pagesize=${size.replace(/i$/, "")}` : null;
      if (!isLocalMountPoint(path)) mount("nodev", path, "hugetlbfs", mountFlags.noSuid | mountFlags.noDev, pageSize);
    } else {
      mkdirSync(path, { recursive: true });
    }
    // The umask may have taken bits away. Everyone may write: containers run as any user. What memory has beyond that stays (sticky).
    if ((statSync(path).mode & 0o777) !== 0o777) chmodSync(path, 0o777);
    if (rootId !== undefined) chownSync(path, rootId, rootId);
    applyGroup(path, fsGroup);
  },
  async unmount(path) {
    removeVolume(path);
  },
};

export const emptyDir: Plugin<VolumePlugin> = { kind: volumeKind, name: "empty-dir", open: () => volume };
