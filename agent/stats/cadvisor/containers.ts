// What cAdvisor calls containers: every control group that is looked at, by its path, from the machine itself (`/`) down to a
// pod's containers, each with its recent samples.

import type { CgroupSample } from "../../../plugins/kit/contracts/stats-source.ts";
import type { ObservedContainer } from "../../model/observed.ts";
import type { AgentPod } from "../../model/agent-pod.ts";
import type { InterfaceCounters } from "../net-dev.ts";
import { rootSample } from "../root-sample.ts";
import type { ContainerUsage, Snapshot } from "../usage.ts";

export interface Point {
  readonly sample: CgroupSample;
  readonly nanoCores?: number;
  readonly network?: readonly InterfaceCounters[];
  readonly tasks?: NonNullable<ContainerUsage["tasks"]>;
}

export interface Looked {
  readonly name: string;
  readonly pod?: AgentPod;
  readonly container?: ObservedContainer;
  /** Oldest first. Empty for a group between the machine and its pods: nobody samples those on a beat. */
  readonly points: readonly Point[];
}

/** Of the newest look, with the points of the ones before. */
export function lookedAt(recent: readonly Snapshot[]): ReadonlyMap<string, Looked> {
  const found = new Map<string, Looked & { readonly points: Point[] }>();
  const newest = recent.at(-1);
  if (!newest) return found;
  for (const one of membersOf(newest)) found.set(one.name, { ...one, points: [] });
  for (const snapshot of recent)
    for (const { name, points } of membersOf(snapshot)) found.get(name)?.points.push(...points);
  for (const name of found.keys())
    for (const above of ancestors(name)) if (!found.has(above)) found.set(above, { name: above, points: [] });
  return found;
}

function* membersOf({ node, nodeNanoCores, pods }: Snapshot): Iterable<Looked> {
  const rate = (nanoCores: number | undefined) => (nanoCores === undefined ? {} : { nanoCores });
  yield { name: "/", points: [{ sample: rootSample(node), ...rate(nodeNanoCores), network: node.interfaces }] };
  for (const { pod, cgroup, sample, nanoCores, network, containers } of pods) {
    const name = cgroup || `/pod${pod.metadata.uid}`;
    const wires = network ? { network } : {};
    yield { name, pod, points: [{ sample, ...rate(nanoCores), ...wires }] };
    for (const one of containers) {
      const tasks = one.tasks ? { tasks: one.tasks } : {};
      const point = { sample: one.sample, ...rate(one.nanoCores), ...wires, ...tasks };
      yield { name: one.cgroup || `${name}/${one.container.id}`, pod, container: one.container, points: [point] };
    }
  }
}

function ancestors(name: string): string[] {
  const parts = name.split("/").slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
}

/** The groups right below, in order. */
export function childrenOf(all: ReadonlyMap<string, Looked>, name: string): Looked[] {
  const prefix = name === "/" ? "/" : `${name}/`;
  return [...all.values()]
    .filter((one) => one.name.startsWith(prefix) && one.name !== "/" && !one.name.slice(prefix.length).includes("/"))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The group and everything below it, in order. */
export function familyOf(all: ReadonlyMap<string, Looked>, name: string): Looked[] {
  const prefix = name === "/" ? "/" : `${name}/`;
  return [...all.values()]
    .filter((one) => one.name === name || one.name.startsWith(prefix))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Other names of a container: its id, and the one that Kubernetes' Docker containers always had. */
export function aliasesOf({ pod, container }: Looked): readonly string[] {
  if (!pod || !container) return [];
  const { name, namespace, uid } = pod.metadata;
  return [`k8s_${container.name}_${name}_${namespace}_${uid}_${container.restartCount}`, container.id];
}
