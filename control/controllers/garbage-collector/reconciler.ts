// Garbage collector: deletes what has lost all its owners, and sees deletions through that wait for dependents or leave them behind.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import { WorkQueue } from "../../../plugins/kit/base/queue.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { builtInResources, onCustomResource } from "../stored-resources.ts";
import { type GraphNode, OwnerGraph } from "./graph.ts";
import { judge } from "./verdict.ts";

const workers = 5;

export const garbageCollector: ControllerFactory = ({ client, informers, clock, log }) => {
  const graph = new OwnerGraph();
  const kinds = new Map<string, ResourceRef>();
  const queue = new WorkQueue<string>({
    clock,
    name: "garbage-collector",
    onError: (key, error) => log.debug({ err: error, uid: key }, "collecting failed, trying again"),
  });
  const watched = new Set<string>();

  function watch(ref: ResourceRef): void {
    const id = `${ref.group}/${ref.plural}`;
    kinds.set(`${ref.group}/${ref.kind}`, ref);
    if (watched.has(id) || ref.plural === "events") return;
    watched.add(id);
    informers.for<{ metadata: ObjectMeta }>(ref).onEvent(({ type, object: { metadata } }) => {
      const uid = metadata.uid ?? "";
      if (type === "delete") {
        const owners = graph.get(uid)?.owners ?? [];
        graph.remove(uid);
        for (const dependent of graph.dependentsOf(uid)) queue.add(dependent);
        for (const owner of owners) if (graph.get(owner.uid)?.waitsForDependents) queue.add(owner.uid);
        return;
      }
      const node = graph.set(ref, metadata);
      if (node.owners.length > 0 || node.isDeleting) queue.add(uid);
      // An owner that begins to wait wakes those it waits for.
      if (node.waitsForDependents || node.orphans)
        for (const dependent of graph.dependentsOf(uid)) queue.add(dependent);
    });
  }

  const isUnknownKind = ({ apiVersion, kind }: { apiVersion: string; kind: string }) => {
    const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
    return !kinds.has(`${group}/${kind}`);
  };

  async function collect(uid: string, call: Call): Promise<void> {
    const node = graph.get(uid);
    if (!node) return;
    const verdict = judge(node, { graph, isUnknownKind });
    try {
      switch (verdict.do) {
        case "nothing":
          return;
        case "delete":
          log.debug({ kind: node.resource.kind, name: `${node.namespace}/${node.name}` }, "no owner is left, deleting");
          await client.delete(node.resource, at(node), call, {
            propagationPolicy: verdict.policy,
            preconditions: { uid },
          });
          return;
        case "drop-owners":
          return await dropOwners(node, verdict.uids, call);
        case "finish-foreground":
          if (verdict.blocking.length === 0) return await dropFinalizer(node, "foregroundDeletion", call);
          // Those that are on their way already wake us when they are gone.
          for (const dependent of verdict.blocking) if (!graph.get(dependent)?.isDeleting) queue.add(dependent);
          return;
        case "finish-orphan":
          for (const dependent of verdict.dependents) {
            const found = graph.get(dependent);
            if (found) await dropOwners(found, [uid], call);
          }
          return await dropFinalizer(node, "orphan", call);
      }
    } catch (error) {
      // Gone, or replaced by another of that name: its own event has told us or will.
      if (!isFault(error, "not-found")) throw error;
    }
  }

  async function dropOwners(node: GraphNode, uids: readonly string[], call: Call): Promise<void> {
    const kept = node.owners.filter((owner) => !uids.includes(owner.uid));
    const body = { metadata: { uid: node.uid, ownerReferences: kept.length > 0 ? kept : null } };
    await client.patch(node.resource, at(node), { type: "merge", body }, call);
  }

  async function dropFinalizer(node: GraphNode, finalizer: string, call: Call): Promise<void> {
    const object = await client.get<{ metadata: ObjectMeta }>(node.resource, at(node), call);
    const finalizers = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
    const { uid, resourceVersion } = object.metadata;
    if (uid !== node.uid) return;
    await client.patch(
      node.resource,
      at(node),
      { type: "merge", body: { metadata: { uid, resourceVersion, finalizers } } },
      call,
    );
  }

  return {
    name: "generic-garbage-collector",
    wakes: [{ resource: resources.customresourcedefinitions, keys: () => [] }],
    reconcile: async () => undefined,
    async run(call) {
      for (const ref of builtInResources) watch(ref);
      const stop = onCustomResource(informers, watch);
      try {
        await queue.run(workers, collect, call);
      } finally {
        stop();
      }
    },
  };
};

function at(node: GraphNode): { namespace?: string; name: string } {
  return node.namespace ? { namespace: node.namespace, name: node.name } : { name: node.name };
}
