// Mount points of other volumes inside a read-only one: the runtime cannot make them there, so they are made in the volume itself, as
// upstream does. Pure.

import { normalize } from "node:path";
import type { Pod } from "../kit/kube/objects/types.ts";

/** Paths of directories below the volume, each relative to it. Of nested ones only the outermost. */
export function nestedMountPoints(pod: Pod, volumeName: string): string[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const found = new Set<string>();
  for (const { volumeMounts = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    const clean = (path: string) => normalize(`/${path}`).replace(/(.)\/$/, "$1");
    const points = volumeMounts.map(({ mountPath }) => clean(mountPath)).sort();
    for (const own of volumeMounts) {
      if (own.name !== volumeName || own.subPath || own.subPathExpr) continue;
      const base = `${clean(own.mountPath)}/`.replace("//", "/");
      const outer: string[] = [];
      for (const point of points) {
        if (!point.startsWith(base) || point === base || outer.some((path) => point.startsWith(`${path}/`))) continue;
        outer.push(point);
        found.add(point.slice(base.length));
      }
    }
  }
  return [...found];
}
