// emptyDir: a directory that lives as long as the pod, on disk, in memory or in huge pages.

import { mkdirSync } from "node:fs";
import type { Call } from "../kit/base/call.ts";
import type { Node } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { isLocalMountPoint, mount, mountFlags } from "../kit/os/platform/mount.ts";
import { podObjectsKind } from "../kit/contracts/pod-objects.ts";
import { podQuantities } from "../kit/kube/pod-quantities.ts";
import { parseQuantity, quantityValue } from "../kit/kube/quantity.ts";
import { withFolder } from "../kit/os/safe-files/folder.ts";
import { giveToGroup } from "../kit/os/safe-files/own-tree.ts";
import { type VolumeMountRequest, type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import { mountTmpfs, removeVolume } from "./tmpfs.ts";

/** The least of what the volume, its pod and the node's pods together may take; undefined where nobody says. */
function memorySize({ pod, volume }: VolumeMountRequest, node: Node | undefined): bigint | undefined {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const isBounded = containers.every(({ resources }) => resources?.limits?.["memory"] !== undefined);
  const ofPod = pod.spec && isBounded ? podQuantities(pod.spec, "limits").get("memory") : undefined;
  const texts = [volume.emptyDir?.sizeLimit, node?.status?.allocatable?.["memory"]];
  const sizes = [ofPod, ...texts.map((text) => (text === undefined ? undefined : parseQuantity(text)))]
    .flatMap((size) => (size === undefined ? [] : [quantityValue(size)]))
    .filter((size) => size > 0n);
  return sizes.length === 0 ? undefined : sizes.reduce((least, size) => (size < least ? size : least));
}

async function prepare({ path, fsGroup, rootId }: VolumeMountRequest, call: Call): Promise<void> {
  await withFolder(path, async (folder) => {
    const { mode, uid, gid } = folder.stats();
    // The umask may have taken bits away. Everyone may write: containers run as any user. What memory has beyond that stays (sticky).
    folder.own({ uid: rootId ?? uid, gid: rootId ?? gid, mode: (mode & 0o7777) | 0o777 });
  });
  // Without the pod's policy: an empty directory is given to its group at once.
  if (fsGroup !== undefined) await giveToGroup(path, fsGroup, {}, call);
}

const volumeOf = (nodeNow: () => Node | undefined): VolumePlugin => ({
  name: "kubernetes.io/empty-dir",
  supports: (candidate) => candidate.emptyDir !== undefined,
  async mount(request, call) {
    const {
      volume: { emptyDir },
      path,
    } = request;
    let isFresh = !request.isMounted;
    const medium = emptyDir?.medium ?? "";
    if (medium === "Memory") {
      const sizeBytes = memorySize(request, nodeNow());
      if (mountTmpfs(path, { mode: 0o1777, ...(sizeBytes ? { sizeBytes } : {}) })) isFresh = true;
    } else if (medium.startsWith("HugePages")) {
      mkdirSync(path, { recursive: true });
      const [, size] = medium.split("-");
      const pageSize = size ? `pagesize=${size.replace(/i$/, "")}` : null;
      if (!isLocalMountPoint(path)) {
        mount("nodev", path, "hugetlbfs", mountFlags.noSuid | mountFlags.noDev, pageSize);
        isFresh = true;
      }
    } else {
      mkdirSync(path, { recursive: true });
    }
    // Owner and mode are the containers' to change later.
    if (isFresh) await prepare(request, call);
  },
  unmount: removeVolume,
});

export const emptyDir: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "empty-dir",
  needs: [podObjectsKind],
  open: (host) => volumeOf(() => host.all(podObjectsKind)[0]?.node()),
};
