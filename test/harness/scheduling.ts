// Small clusters for scheduler tests: nodes and pods in a line each, the built-in plugins opened, and a snapshot of them.

import { filters } from "../../plugins/filter/index.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { Namespace, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { Plugin } from "../../plugins/kit/base/plugin.ts";
import {
  anyEvent,
  type FilterPlugin,
  type ScorePlugin,
  type WakeEvent,
} from "../../plugins/kit/contracts/scheduling.ts";
import { scores } from "../../plugins/score/index.ts";
import { type Available, type Profile, defaultProfile as profileOfAll } from "../../control/scheduler/profile.ts";
import { Snapshot } from "../../control/scheduler/snapshot.ts";

const host = {
  settings: undefined,
  log: noLog,
  clock: systemClock,
  stateDir: "/nonexistent",
  all: () => [],
  onClose: () => {},
};

async function openAll<T>(plugins: readonly Plugin<T>[]): Promise<T[]> {
  const opened: T[] = [];
  for (const plugin of plugins) opened.push(await plugin.open(host as never, uninterrupted));
  return opened;
}

/** Every built-in filter and score. */
export async function availablePlugins(): Promise<Available> {
  return { filters: await openAll<FilterPlugin>(filters), scores: await openAll<ScorePlugin>(scores) };
}

/** The profile that a cluster has when nothing is configured. */
export async function defaultProfile(): Promise<Profile> {
  return profileOfAll(await availablePlugins());
}

export function node(
  name: string,
  labels: Record<string, string> = {},
  more: { spec?: object; allocatable?: Record<string, string> } = {},
): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
    spec: more.spec ?? {},
    status: { allocatable: { cpu: "4", memory: "4Gi", pods: "110", ...more.allocatable } },
  } as unknown as Node;
}

export function pod(name: string, spec: object = {}, labels: Record<string, string> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name, uid: `uid-${name}`, labels },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  } as unknown as Pod;
}

/** Whether a pod that waits for the events is tried again after this one. */
export function isWokenBy(event: string, events: ReadonlySet<WakeEvent>): boolean {
  return [event, `${event.slice(0, event.indexOf("/"))}/*`, anyEvent].some((name) => events.has(name as WakeEvent));
}

export const requesting = (cpu: string, memory = "0") => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu, memory } } }],
});

export function snapshot(
  nodes: readonly Node[],
  bound: readonly [Pod, string][] = [],
  lists: Readonly<Record<string, readonly object[]>> = {},
): Snapshot {
  const namespace = { metadata: { name: "default", labels: { team: "a" } } } as unknown as Namespace;
  const made = new Snapshot({
    list: <T>(resource: string) => (lists[resource] ?? []) as readonly T[],
    get: <T>(resource: string, _: string, name: string) => {
      const known = [...(resource === "namespaces" ? [namespace] : []), ...(lists[resource] ?? [])];
      return known.find((item) => (item as { metadata: { name?: string } }).metadata.name === name) as T | undefined;
    },
  });
  for (const item of nodes) made.setNode(item);
  for (const [item, where] of bound) made.assume(item, where);
  return made;
}
