// Which resources besides pods and nodes the scheduler looks at, and the listers its plugins ask.

import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { ClusterView } from "../../plugins/kit/contracts/scheduling.ts";
import type { Informers } from "../manager/contract.ts";

/** Changes of these may let a waiting pod fit. */
export const wakingResources: readonly ResourceRef[] = [
  resources.persistentvolumeclaims,
  resources.persistentvolumes,
  resources.storageclasses,
  resources.csinodes,
  resources.csidrivers,
  resources.csistoragecapacities,
  resources.volumeattachments,
  resources.services,
  resources.namespaces,
];

const listedRefs = new Map<string, ResourceRef>(
  [
    ...wakingResources,
    resources.pods,
    resources.nodes,
    resources.replicasets,
    resources.replicationcontrollers,
    resources.statefulsets,
    resources.poddisruptionbudgets,
    resources.priorityclasses,
  ].map((ref) => [ref.plural, ref]),
);

/** Answers plugins by plural name. A name outside the list is a mistake of the plugin. */
export function clusterListers(informers: Informers): Pick<ClusterView, "list" | "get"> {
  const informer = (plural: string) => {
    const ref = listedRefs.get(plural);
    if (!ref) throw new Error(`the scheduler keeps no list of "${plural}"`);
    return informers.for<object>(ref);
  };
  return {
    list: <T>(plural: string, namespace?: string) => informer(plural).list(namespace) as readonly T[],
    get: <T>(plural: string, namespace: string, name: string) => informer(plural).get(namespace, name) as T | undefined,
  };
}
