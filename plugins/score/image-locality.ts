// ImageLocality: prefers nodes that hold the pod's images already, the large and widely spread ones most.

import type { Plugin } from "../kit/base/plugin.ts";
import { type NodeView, type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";

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

/** A snapshot's list of nodes is another one as soon as any node changed. */
const countedByNodes = new WeakMap<readonly NodeView[], Map<string, number>>();

function holdersOf(image: string, nodes: readonly NodeView[]): number {
  let counted = countedByNodes.get(nodes);
  if (!counted) countedByNodes.set(nodes, (counted = new Map()));
  let holders = counted.get(image);
  if (holders === undefined) {
    holders = nodes.filter((node) => node.images.has(image)).length;
    counted.set(image, holders);
  }
  return holders;
}

const score: ScorePlugin = {
  name: "ImageLocality",
  weight: 1,
  prepare(pod, cluster) {
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const names = containers.map((container) => normalized(container.image ?? ""));
    const spread = new Map<string, number>();
    for (const name of names) {
      const holders = holdersOf(name, cluster.nodes);
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
