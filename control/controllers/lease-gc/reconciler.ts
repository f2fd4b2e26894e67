// Leases of nodes that are gone, and of API servers that stopped renewing theirs, go an hour after their end.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Lease, Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";

const keptMs = 3_600_000;
const identityLabel = "apiserver.kubernetes.io/identity";

/** Milliseconds until a lease may go by its age; undefined when it never ends by itself. */
function msToKeep(lease: Lease, now: number): number | undefined {
  const renewed = Date.parse(String(lease.spec?.renewTime ?? lease.metadata.creationTimestamp ?? ""));
  if (Number.isNaN(renewed)) return undefined;
  return Math.max(0, renewed + (lease.spec?.leaseDurationSeconds ?? 0) * 1000 + keptMs - now);
}

export const leaseGarbageCollector: ControllerFactory = ({ client, informers, clock }) => {
  const leases = informers.for<Lease>(resources.leases);
  const nodes = informers.for<Node>(resources.nodes);
  const isOurs = ({ metadata }: Lease) =>
    metadata.namespace === "kube-node-lease"
      ? nodes.get("", metadata.name ?? "") === undefined
      : metadata.namespace === "kube-system" && metadata.labels?.[identityLabel] !== undefined;
  return {
    name: "lease-garbage-collector",
    wakes: [
      { resource: resources.leases, keys: (lease: Lease) => (isOurs(lease) ? [keyOf(lease)] : []) },
      {
        resource: resources.nodes,
        keys: ({ metadata }: Node) =>
          nodes.get("", metadata.name ?? "") ? [] : [`kube-node-lease/${metadata.name ?? ""}`],
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const lease = leases.get(namespace, name);
      const left = lease && isOurs(lease) ? msToKeep(lease, clock.now()) : undefined;
      if (left === undefined || left > 0) return left;
      const { uid = "" } = lease?.metadata ?? {};
      try {
        await client.delete(resources.leases, { namespace, name }, call, { preconditions: { uid } });
      } catch (error) {
        if (!isFault(error, "not-found", "conflict")) throw error;
      }
      return undefined;
    },
  };
};
