// Which zone each endpoint is meant for. Pure. Two ways: `trafficDistribution: PreferClose` (its own zone), and the annotation
// `service.kubernetes.io/topology-mode: Auto` (endpoints shared out over the zones by the CPU of their nodes, so that no endpoint
// gets more than a fifth too much).

import type { Node, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { quantityMilli, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import type { Endpoint } from "./desired.ts";

const zoneLabel = "topology.kubernetes.io/zone";
const notCounted = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
const mostOverload = 0.2;

/** A zone by the endpoint's id; what has none is for everybody. `why` tells what kept a service that asked for them from having any. */
export interface Hints {
  readonly zones: ReadonlyMap<string, string>;
  readonly why?: string;
}

/** What a node says about its zone, as far as hints depend on it. */
export function zoneFacts(node: Node): { zone: string; milliCpu: number } | undefined {
  const { labels } = node.metadata;
  if (notCounted.some((label) => labels?.[label] !== undefined)) return undefined;
  if (!node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")) return undefined;
  const milliCpu = Number(quantityMilli(parseQuantity(node.status.allocatable?.cpu ?? "0")));
  return { zone: labels?.[zoneLabel] ?? "", milliCpu };
}

/** Whether the zones of the service's endpoints depend on all nodes, not only on theirs. */
export function isSharedByZone({ metadata: { annotations } }: Service): boolean {
  const mode =
    annotations?.["service.kubernetes.io/topology-aware-hints"] ?? annotations?.["service.kubernetes.io/topology-mode"];
  return mode === "Auto" || mode === "auto";
}

export function hintsFor(
  service: Service,
  endpoints: ReadonlyMap<string, Endpoint>,
  before: ReadonlyMap<string, string>,
  nodes: () => readonly Node[],
): Hints {
  const ready = [...endpoints].filter(([, { conditions }]) => conditions.ready);
  if (isSharedByZone(service)) return sharedHints(ready, before, nodes());
  if (service.spec?.trafficDistribution !== "PreferClose") return { zones: new Map() };
  return { zones: new Map(ready.flatMap(([id, { zone }]) => (zone ? [[id, zone] as const] : []))) };
}

const none = (why: string): Hints => ({ zones: new Map(), why });

function sharedHints(
  ready: readonly (readonly [string, Endpoint])[],
  before: ReadonlyMap<string, string>,
  nodes: readonly Node[],
): Hints {
  const facts = nodes.flatMap((node) => zoneFacts(node) ?? []);
  const cpuByZone = new Map<string, number>();
  for (const { zone, milliCpu } of facts) cpuByZone.set(zone, (cpuByZone.get(zone) ?? 0) + milliCpu);
  if (cpuByZone.size < 2 || facts.some(({ zone, milliCpu }) => zone === "" || milliCpu === 0))
    return none("Insufficient Node information: allocatable CPU or zone not specified on one or more nodes");
  const counts = `(${ready.length} endpoints, ${cpuByZone.size} zones)`;
  if (cpuByZone.size > ready.length) return none(`Insufficient number of endpoints ${counts}`);
  const allotments = allot(cpuByZone, ready.length);
  if (!allotments)
    return none(
      `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${counts}`,
    );
  if (ready.some(([, { zone }]) => !zone)) return none("One or more endpoints do not have a zone specified");
  const kept = new Map(ready.flatMap(([id]) => (before.has(id) ? [[id, before.get(id) as string] as const] : [])));
  if (kept.size === ready.length && isWithin(countByZone(kept), allotments)) return { zones: kept };
  return { zones: redistribute(ready, allotments) };
}

interface Allotment {
  readonly least: number;
  readonly wanted: number;
}

/** How many endpoints each zone should have; undefined when there are too few for every zone to have its least. */
function allot(cpuByZone: ReadonlyMap<string, number>, total: number): Map<string, Allotment> | undefined {
  const cpu = [...cpuByZone.values()].reduce((sum, each) => sum + each, 0);
  const allotments = new Map<string, Allotment>();
  let left = total;
  for (const [zone, share] of cpuByZone) {
    const wanted = (share / cpu) * total;
    const least = Math.ceil(wanted / (1 + mostOverload));
    allotments.set(zone, { least, wanted: Math.max(wanted, least) });
    left -= least;
  }
  return left < 0 ? undefined : allotments;
}

function countByZone(zones: ReadonlyMap<string, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const zone of zones.values()) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return counts;
}

/** Hints that are still good enough stay: each change costs every node. */
function isWithin(counts: ReadonlyMap<string, number>, allotments: ReadonlyMap<string, Allotment>): boolean {
  return (
    [...counts.keys()].every((zone) => allotments.has(zone)) &&
    [...allotments].every(([zone, { least }]) => (counts.get(zone) ?? 0) >= least)
  );
}

/** Each endpoint for its own zone, but for those that a zone with many gives to one with few. */
function redistribute(
  ready: readonly (readonly [string, Endpoint])[],
  allotments: ReadonlyMap<string, Allotment>,
): Map<string, string> {
  const zones = new Map(ready.map(([id, { zone }]) => [id, zone ?? ""]));
  const excess = new Map(
    [...new Set([...allotments.keys(), ...zones.values()])].map((zone) => [
      zone,
      (countByZone(zones).get(zone) ?? 0) - (allotments.get(zone)?.wanted ?? 0),
    ]),
  );
  for (;;) {
    const sorted = [...excess].sort((a, b) => a[1] - b[1]);
    const [taker, giver] = [sorted[0], sorted.at(-1)];
    if (!taker || !giver || giver[1] < 0.5 || taker[1] > -0.5 || (giver[1] < 1 && taker[1] > -1)) return zones;
    const given = [...zones].find(([, zone]) => zone === giver[0]);
    if (!given) return zones;
    zones.set(given[0], taker[0]);
    excess.set(giver[0], giver[1] - 1);
    excess.set(taker[0], taker[1] + 1);
  }
}
