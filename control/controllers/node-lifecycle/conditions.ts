// What becomes of a silent node's conditions, and which NoExecute taint its readiness asks for. Pure.

import type { Node, NodeCondition, Taint } from "../../../plugins/kit/kube/objects/types.ts";
import { timestamp } from "../../manager/conditions.ts";
import { readiness } from "./zones.ts";

const types = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The conditions with all answers unknown, or undefined when they are so already. */
export function unknownConditions(node: Node, now: number): NodeCondition[] | undefined {
  const known = node.status?.conditions ?? [];
  const at = timestamp(now);
  let isChanged = false;
  const next = [...known];
  for (const type of types) {
    const place = next.findIndex((condition) => condition.type === type);
    const current = next[place];
    if (current?.status === "Unknown") continue;
    isChanged = true;
    const made = {
      type,
      status: "Unknown" as const,
      reason: current ? "NodeStatusUnknown" : "NodeStatusNeverUpdated",
      message: current ? "Kubelet stopped posting node status." : "Kubelet never posted node status.",
      lastHeartbeatTime: current?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? at,
      lastTransitionTime: at,
    };
    if (place < 0) next.push(made);
    else next[place] = made;
  }
  return isChanged ? next : undefined;
}

const notReadyKey = "node.kubernetes.io/not-ready";
const unreachableKey = "node.kubernetes.io/unreachable";

/** The NoExecute taint that a node should carry by its readiness. */
export function wantedTaint(node: Node): string | undefined {
  const ready = readiness(node);
  if (ready === "False") return notReadyKey;
  return ready === "Unknown" ? unreachableKey : undefined;
}

/** Its taints with exactly that one of ours, or undefined when nothing changes. */
export function taintsFor(node: Node, key: string | undefined, now: number): Taint[] | undefined {
  const current = node.spec?.taints ?? [];
  const isOurs = (taint: Taint) =>
    taint.effect === "NoExecute" && (taint.key === notReadyKey || taint.key === unreachableKey);
  const kept = current.filter((taint) => !isOurs(taint) || taint.key === key);
  const isThere = kept.some((taint) => isOurs(taint));
  if (kept.length === current.length && (key === undefined || isThere)) return undefined;
  if (key === undefined || isThere) return kept;
  return [...kept, { key, effect: "NoExecute", timeAdded: timestamp(now) } as Taint];
}
