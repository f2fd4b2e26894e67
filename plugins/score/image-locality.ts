// ImageLocality: prefers nodes that hold the pod's images already, the large and widely spread ones most.

import type { Plugin } from "../kit/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/scheduling.ts";

const mebibyte = 1024 * 1024;
const leastBytes = 23 * mebibyte;
const mostBytesPerContainer = 1000 * mebibyte;

interface State {
  readonly names: readonly string[];
  /** Share of all nodes that hold each image. */
  readonly spread: ReadonlyMap<string, number>;
}

/** `busybox` means `docker.io/library/busybox:latest` to the runtimes that list it. */
function normalized(image: string): string {
  // Without a pattern: an image's name may be as long as a request.
  return image.lastIndexOf(":") > image.lastIndexOf("/") ? image : `${image}:latest`;
}

const score: ScorePlugin = {
  name: "ImageLocality",
  weight: 1,
  prepare(pod, cluster) {
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const names = containers.map((container) => normalized(container.image ?? ""));
    const spread = new Map<string, number>();
    for (const name of new Set(names)) {
      const holders = cluster.nodes.filter((node) => node.images.has(name)).length;
      if (holders > 0) spread.set(name, holders / cluster.nodes.length);
    }
    return spread.size === 0 ? skip : ({ names, spread } satisfies State);
  },
  score(_pod, node, prepared) {
    const { names, spread } = prepared as State;
    const bytes = names.reduce((sum, name) => sum + (node.images.get(name) ?? 0) * (spread.get(name) ?? 0), 0);
    const most = mostBytesPerContainer * names.length;
    const within = Math.min(Math.max(bytes, leastBytes), most);
    return Math.floor((100 * (within - leastBytes)) / (most - leastBytes));
  },
};

export const imageLocality: Plugin<ScorePlugin> = { kind: scoreKind, name: "ImageLocality", open: () => score };
