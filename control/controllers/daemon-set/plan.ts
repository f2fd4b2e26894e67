// The next step of a daemon set: pods to make on nodes, and pods to take away. Pure.

import type { Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { resolve } from "../deployment/limits.ts";
import { msUntilAvailable } from "../pods/pod-facts.ts";
import { revisionLabel } from "../revisions/revisions.ts";
import type { DaemonSet } from "./objects.ts";
import { nodeOf, placementOn } from "./placement.ts";

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Of those to remove, the ones that failed: they are told of, and replaced with growing delays. */
  readonly failed: readonly Pod[];
}

export interface Facts {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly hash: string;
  readonly now: number;
}

const isGoing = (pod: Pod) => pod.metadata.deletionTimestamp !== undefined;
const isUpdated = (pod: Pod, hash: string) => pod.metadata.labels?.[revisionLabel] === hash;
export const isAvailable = (set: DaemonSet, pod: Pod, now: number) =>
  !isGoing(pod) && msUntilAvailable(pod, set.spec.minReadySeconds ?? 0, now) === 0;

export function podsByNode(pods: readonly Pod[]): Map<string, Pod[]> {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = nodeOf(pod);
    if (node === undefined) continue;
    const known = byNode.get(node);
    if (known) known.push(pod);
    else byNode.set(node, [pod]);
  }
  return byNode;
}

/** First the right pods on the right nodes; when they are, the update. */
export function planDaemons(facts: Facts): DaemonPlan {
  const { set, nodes, pods, hash } = facts;
  const byNode = podsByNode(pods);
  const create: string[] = [];
  const remove: Pod[] = [];
  const failed: Pod[] = [];
  const known = new Set<string>();
  for (const node of nodes) {
    const name = node.metadata.name ?? "";
    known.add(name);
    const here = byNode.get(name) ?? [];
    const { shouldRun, mayStay } = placementOn(set, node);
    if (!mayStay) {
      remove.push(...here.filter((pod) => !isGoing(pod)));
      continue;
    }
    if (here.length === 0) {
      if (shouldRun) create.push(name);
      continue;
    }
    const staying: Pod[] = [];
    for (const pod of here) {
      if (isGoing(pod)) continue;
      if (pod.status?.phase === "Failed") failed.push(pod);
      else if (pod.status?.phase === "Succeeded") remove.push(pod);
      else staying.push(pod);
    }
    remove.push(...surplus(staying, hash, surgeOf(set) > 0));
  }
  for (const [node, there] of byNode)
    if (!known.has(node)) remove.push(...there.filter((pod) => !pod.spec?.nodeName && !isGoing(pod)));
  const update = planUpdate(facts, byNode);
  const isNew = <T>(items: readonly T[], from: readonly T[]) => from.filter((item) => !items.includes(item));
  return {
    create: [...create, ...isNew(create, update.create)],
    remove: [...remove, ...isNew([...remove, ...failed], update.remove)],
    failed,
  };
}

/** The oldest stays; during an update with surge one of each revision does. */
function surplus(pods: readonly Pod[], hash: string, withSurge: boolean): Pod[] {
  const byAge = [...pods].sort(
    (a, b) =>
      (a.spec?.nodeName ? 0 : 1) - (b.spec?.nodeName ? 0 : 1) ||
      (Date.parse(a.metadata.creationTimestamp ?? "") || 0) - (Date.parse(b.metadata.creationTimestamp ?? "") || 0) ||
      ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1),
  );
  if (!withSurge) return byAge.slice(1);
  const updated = byAge.filter((pod) => isUpdated(pod, hash));
  const old = byAge.filter((pod) => !isUpdated(pod, hash));
  return [...updated.slice(1), ...old.slice(1)];
}

function surgeOf(set: DaemonSet, desired = 1): number {
  if (set.spec.updateStrategy?.type === "OnDelete") return 0;
  return resolve(set.spec.updateStrategy?.rollingUpdate?.maxSurge, desired, "up", 0);
}

function planUpdate(
  { set, nodes, hash, now }: Facts,
  byNode: ReadonlyMap<string, Pod[]>,
): { create: string[]; remove: Pod[] } {
  const nothing = { create: [], remove: [] };
  if (set.spec.updateStrategy?.type === "OnDelete") return nothing;
  const wanted = nodes.filter((node) => placementOn(set, node).shouldRun).map((node) => node.metadata.name ?? "");
  const maxSurge = surgeOf(set, wanted.length);
  const given = set.spec.updateStrategy?.rollingUpdate?.maxUnavailable;
  const atMost = resolve(given, wanted.length, "up", 1);
  const maxUnavailable = maxSurge === 0 && atMost === 0 ? 1 : atMost;
  const pairs = wanted.map((name) => {
    const here = (byNode.get(name) ?? []).filter((pod) => pod.status?.phase !== "Failed");
    return {
      name,
      fresh: here.find((pod) => isUpdated(pod, hash) && !isGoing(pod)),
      old: here.find((pod) => !isUpdated(pod, hash) && !isGoing(pod)),
      isLeaving: here.some(isGoing),
    };
  });
  if (maxSurge > 0) {
    const surging = pairs.filter(({ fresh, old, isLeaving }) => fresh && (old || isLeaving)).length;
    const remove = pairs.flatMap(({ fresh, old }) => (old && fresh && isAvailable(set, fresh, now) ? [old] : []));
    const without = pairs.filter(({ fresh, old, isLeaving }) => old && !fresh && !isLeaving);
    const broken = without.filter(({ old }) => old && !isAvailable(set, old, now)).map(({ name }) => name);
    const others = without.filter(({ name }) => !broken.includes(name)).map(({ name }) => name);
    const room = Math.max(0, maxSurge - surging - broken.length);
    return { create: [...broken, ...others.slice(0, room)], remove };
  }
  const unavailable = pairs.filter(({ fresh, old }) => {
    const serving = fresh ?? old;
    return !serving || !isAvailable(set, serving, now);
  }).length;
  const candidates = pairs.flatMap(({ fresh, old }) => (old && !fresh ? [old] : []));
  const broken = candidates.filter((pod) => !isAvailable(set, pod, now));
  const healthy = candidates.filter((pod) => isAvailable(set, pod, now));
  return { create: [], remove: [...broken, ...healthy.slice(0, Math.max(0, maxUnavailable - unavailable))] };
}
