// How badly a zone is hit, and how fast its nodes may lose their pods: an outage of the network must not empty a cluster. Pure.

import type { Node } from "../../../plugins/kit/kube/objects/types.ts";

export type ZoneState = "normal" | "partial" | "full";

const unhealthyShare = 0.55;
const largeZone = 50;
const nodesPerSecond = 0.1;
const nodesPerSecondWhenPartial = 0.01;

export function zoneOf(node: Node): string {
  const { labels } = node.metadata;
  return `${labels?.["topology.kubernetes.io/region"] ?? ""}/${labels?.["topology.kubernetes.io/zone"] ?? ""}`;
}

export function readiness(node: Node): string | undefined {
  return node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

export function zoneState(nodes: readonly Node[]): ZoneState {
  const ready = nodes.filter((node) => readiness(node) === "True").length;
  const unready = nodes.length - ready;
  if (ready === 0 && unready > 0) return "full";
  return unready > 2 && unready / nodes.length >= unhealthyShare ? "partial" : "normal";
}

/**
 * How fast nodes of a zone begin to lose their pods: milliseconds between two of them; `halt`, where no further one may; `lift`,
 * where those that did are spared too.
 */
export type Pace = number | "halt" | "lift";

export function paceOf(zone: string, nodes: readonly Node[]): Pace {
  const zones = Map.groupBy(nodes, zoneOf);
  const states = [...zones.values()].map(zoneState);
  // Nobody answers anywhere: more likely it is us who are cut off.
  if (states.every((state) => state === "full")) return "lift";
  const members = zones.get(zone) ?? [];
  if (zoneState(members) !== "partial") return 1000 / nodesPerSecond;
  return members.length > largeZone ? 1000 / nodesPerSecondWhenPartial : "halt";
}
