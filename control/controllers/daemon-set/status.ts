// A daemon set's status from its nodes and pods. Pure.

import { isReady } from "../pods/pod-facts.ts";
import { revisionLabel } from "../revisions/revisions.ts";
import type { DaemonSetStatus } from "./objects.ts";
import { type Facts, isAvailable, podsByNode } from "./plan.ts";
import { placementOn } from "./placement.ts";

export function statusOf({ set, nodes, pods, hash, now }: Facts): DaemonSetStatus {
  const byNode = podsByNode(pods.filter((pod) => !pod.metadata.deletionTimestamp));
  let [desired, current, misscheduled, ready, updated, available] = [0, 0, 0, 0, 0, 0];
  for (const node of nodes) {
    const here = byNode.get(node.metadata.name ?? "") ?? [];
    if (!placementOn(set, node).shouldRun) {
      if (here.length > 0) misscheduled++;
      continue;
    }
    desired++;
    if (here.length === 0) continue;
    current++;
    // The newest is the one that counts while an update has two of them here.
    const pod = here.find((one) => one.metadata.labels?.[revisionLabel] === hash) ?? here[0];
    if (!pod) continue;
    if (here.some(isReady)) ready++;
    if (here.some((one) => isAvailable(set, one, now))) available++;
    if (pod.metadata.labels?.[revisionLabel] === hash) updated++;
  }
  return {
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    ...(updated > 0 ? { updatedNumberScheduled: updated } : {}),
    ...(available > 0 ? { numberAvailable: available } : {}),
    ...(desired > available ? { numberUnavailable: desired - available } : {}),
    ...(set.status?.collisionCount === undefined ? {} : { collisionCount: set.status.collisionCount }),
  };
}
