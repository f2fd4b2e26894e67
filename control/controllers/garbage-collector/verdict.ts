// What should become of an object, judged by its owners and its own wishes. Pure.

import type { OwnerReference } from "../../../plugins/kit/kube/objects/types.ts";
import type { GraphNode, OwnerGraph } from "./graph.ts";

export type Verdict =
  | { do: "nothing" }
  /** No owner is left. */
  | { do: "delete"; policy: "Background" | "Foreground" }
  /** Some owners are gone or going and others stay: forget the former. */
  | { do: "drop-owners"; uids: string[] }
  /** Its own deletion waits for these dependents; none left means that it may go. */
  | { do: "finish-foreground"; blocking: string[] }
  /** Its dependents must be let go before it may. */
  | { do: "finish-orphan"; dependents: string[] };

export interface World {
  readonly graph: OwnerGraph;
  /** True for owners of kinds that nobody serves: they cannot be looked up, so they count as there. */
  isUnknownKind(owner: OwnerReference): boolean;
}

export function judge(node: GraphNode, world: World): Verdict {
  const { graph } = world;
  if (node.orphans) return { do: "finish-orphan", dependents: [...graph.dependentsOf(node.uid)] };
  if (node.waitsForDependents) {
    const waitsInTurn = (uid: string) => graph.get(uid)?.waitsForDependents === true && isOwnedBy(node, uid, graph);
    const blocking = [...graph.dependentsOf(node.uid)].filter(
      (uid) => blocks(graph.get(uid), node.uid) && !waitsInTurn(uid),
    );
    return { do: "finish-foreground", blocking };
  }
  if (node.isDeleting || node.owners.length === 0) return { do: "nothing" };
  const solid: OwnerReference[] = [];
  const gone: OwnerReference[] = [];
  const waiting: OwnerReference[] = [];
  for (const owner of node.owners) {
    const found = graph.get(owner.uid);
    if (!found) (world.isUnknownKind(owner) ? solid : gone).push(owner);
    // An owner in another namespace cannot be meant.
    else if (found.namespace !== "" && found.namespace !== node.namespace) gone.push(owner);
    else (found.waitsForDependents ? waiting : solid).push(owner);
  }
  if (solid.length > 0) {
    const uids = [...gone, ...waiting].map((owner) => owner.uid);
    return uids.length > 0 ? { do: "drop-owners", uids } : { do: "nothing" };
  }
  // Its owner waits for it, and others for it in turn: it waits for them likewise.
  const hasDependents = graph.dependentsOf(node.uid).size > 0;
  return { do: "delete", policy: waiting.length > 0 && hasDependents ? "Foreground" : "Background" };
}

function blocks(dependent: GraphNode | undefined, ownerUid: string): boolean {
  return dependent?.owners.find((owner) => owner.uid === ownerUid)?.blockOwnerDeletion === true;
}

/** Through any number of owners. In a circle each would wait for the other for ever, so there nobody waits. */
function isOwnedBy(node: GraphNode, uid: string, graph: OwnerGraph): boolean {
  const seen = new Set<string>();
  const open = [node];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const owner of next.owners) {
      if (owner.uid === uid) return true;
      const found = graph.get(owner.uid);
      if (found && !seen.has(owner.uid)) open.push(found);
      seen.add(owner.uid);
    }
  }
  return false;
}
